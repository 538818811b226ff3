/** Slack's names of the most common reactions. */
const NAMES: Readonly<Record<string, string>> = {
  "👍": "+1",
  "👎": "-1",
  "👀": "eyes",
  "✅": "white_check_mark",
  "☑️": "ballot_box_with_check",
  "✔️": "heavy_check_mark",
  "❌": "x",
  "❤️": "heart",
  "🧡": "orange_heart",
  "💛": "yellow_heart",
  "💚": "green_heart",
  "💙": "blue_heart",
  "💜": "purple_heart",
  "😀": "grinning",
  "😃": "smiley",
  "😄": "smile",
  "😁": "grin",
  "😆": "laughing",
  "😅": "sweat_smile",
  "😂": "joy",
  "🤣": "rolling_on_the_floor_laughing",
  "🙂": "slightly_smiling_face",
  "🙃": "upside_down_face",
  "😉": "wink",
  "😊": "blush",
  "😍": "heart_eyes",
  "😎": "sunglasses",
  "🤔": "thinking_face",
  "😐": "neutral_face",
  "🙄": "face_with_rolling_eyes",
  "😢": "cry",
  "😭": "sob",
  "😡": "rage",
  "😱": "scream",
  "😴": "sleeping",
  "🤷": "shrug",
  "🤦": "face_palm",
  "🙏": "pray",
  "👏": "clap",
  "🙌": "raised_hands",
  "👋": "wave",
  "👌": "ok_hand",
  "💪": "muscle",
  "🤝": "handshake",
  "👉": "point_right",
  "👈": "point_left",
  "👆": "point_up_2",
  "👇": "point_down",
  "🎉": "tada",
  "🎊": "confetti_ball",
  "🚀": "rocket",
  "🔥": "fire",
  "💯": "100",
  "⭐": "star",
  "🌟": "star2",
  "✨": "sparkles",
  "💡": "bulb",
  "⚠️": "warning",
  "🚨": "rotating_light",
  "🐛": "bug",
  "🔧": "wrench",
  "📌": "pushpin",
  "📝": "memo",
  "📎": "paperclip",
  "🔒": "lock",
  "🔍": "mag",
  "⏳": "hourglass_flowing_sand",
  "⌛": "hourglass",
  "⏰": "alarm_clock",
  "🤖": "robot_face",
  "💩": "hankey",
  "☕": "coffee",
  "🍺": "beer",
  "🎂": "birthday",
  "❓": "question",
  "❗": "exclamation",
  "➕": "heavy_plus_sign",
  "🆗": "ok",
  "🔴": "red_circle",
  "🟢": "large_green_circle",
};

const VARIATION = /\uFE0F/g;
const BY_EMOJI = new Map(
  Object.entries(NAMES).map(([emoji, name]) => [emoji.replaceAll(VARIATION, ""), name]),
);
const BY_NAME = new Map([
  ...Object.entries(NAMES).map(([emoji, name]) => [name, emoji] as const),
  ["thumbsup", "👍"] as const,
  ["thumbsdown", "👎"] as const,
]);

/** Slack's name of a Unicode emoji; a name stays as it is; null: the name is unknown. Pure. */
export function emojiName(emoji: string): string | null {
  const known = BY_EMOJI.get(emoji.replaceAll(VARIATION, ""));
  if (known !== undefined) return known;
  const name = emoji.replaceAll(":", "").toLowerCase();
  return /^[\w+\-']+$/.test(name) ? name : null;
}

/** A reaction as people see it: `👍`, else `:shipit:`. Pure. */
export function shownEmoji(name: string): string {
  const [plain = name] = name.split("::", 1);
  return BY_NAME.get(plain) ?? `:${plain}:`;
}
