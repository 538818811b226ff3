import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { scriptMissed } from "../../../src/compactor/summary/summary-script.ts";
import { line, result } from "./source-lines.ts";

const JAPANESE = [
  line("千早", "明日の会議は十時からです。資料は今夜送ります。"),
  line("Ben", "了解です。GitHub の https://github.com/example/repo に issue を書きました。"),
];
const CHINESE = [line("小明", "明天的会议十点开始,我今晚发资料。"), line("小红", "好的,我带投影仪。")];
const RUSSIAN = [line("Анна", "Завтра встреча в десять, материалы пришлю вечером.")];
const ENGLISH = [line("Ann", "The meeting is at ten tomorrow, I send the papers tonight.")];
const KOREAN = [line("민수", "내일 회의는 열 시에 시작합니다. 자료는 오늘 밤에 보낼게요.")];

suite("the script of a talk is missed", () => {
  const cases = [
    [JAPANESE, "Chihaya sends the papers tonight; the meeting is at ten.", "Japanese"],
    [JAPANESE, "千早今晚发送资料,会议明天十点开始,地点尚未决定。", "Japanese"],
    [CHINESE, "The meeting is at ten tomorrow, papers come tonight.", "Chinese"],
    [RUSSIAN, "Anna sends the papers tonight; the meeting is at ten.", "Cyrillic"],
    [ENGLISH, "会议明天十点开始,安今晚会发送资料,其他事项待定。", "Latin"],
    [KOREAN, "The meeting is at ten tomorrow, papers come tonight.", "Korean"],
  ] as const;
  for (const [talk, summary, script] of cases)
    test(`of ${talk[0]?.text}: ${summary}`, () => assert.equal(scriptMissed(summary, talk), script));
});

suite("the script of a talk is not missed", () => {
  const cases = [
    [JAPANESE, "千早が今夜資料を送る。会議は明日十時。Ben は GitHub に issue を書いた。"],
    [CHINESE, "会议明天十点开始,小明今晚发资料,小红带投影仪。"],
    [RUSSIAN, "Анна вечером пришлёт материалы; встреча завтра в десять. Файл: README.md, ветка release."],
    [ENGLISH, "Ann sends the papers tonight. 千早 translates them."],
    [KOREAN, "회의는 내일 열 시. 자료는 오늘 밤에 온다."],
    [[...ENGLISH, ...RUSSIAN], "Ann sends the papers tonight, and so does Anna."],
    // Where there are hardly any letters, nothing is missed.
    [JAPANESE, "OK 👍"],
    [[line("Ann", "👍 12:30")], "Ann agrees to 12:30."],
  ] as const;
  for (const [talk, summary] of cases)
    test(`of ${talk[0]?.text}: ${summary}`, () => assert.equal(scriptMissed(summary, talk), null));

  test("by the words of tools, code and links", () => {
    const tools = result("The quick brown fox jumps over the lazy dog. ".repeat(50));
    const code = line(
      "千早",
      "```const meeting = await calendar.find(tomorrow);\nreturn meeting;```".repeat(5),
    );
    assert.equal(
      scriptMissed("千早が今夜資料を送る。会議は明日十時に始まる。", [...JAPANESE, tools, code]),
      null,
    );
  });
});
