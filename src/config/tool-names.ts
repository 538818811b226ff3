import { DESCRIBED_FEATURE_TOOLS, FEATURE_TOOLS } from "../features/declarations.ts";

/** The tools of rooms below the features that read the same for each agent that has them. */
const ROOM_TOOLS = ["memory_recall", "react", "read_messages", "search_history", "skip"] as const;

export type RoomTool = (typeof ROOM_TOOLS)[number];
export type PlainTool = RoomTool | (typeof FEATURE_TOOLS)[number];

/** The tools that come with Weir and read the same for each agent that has them, sorted. */
export const PLAIN_TOOLS: readonly PlainTool[] = [...ROOM_TOOLS, ...FEATURE_TOOLS].toSorted();

/** All that come with Weir. */
export const BUILT_IN_TOOLS: readonly string[] = [...PLAIN_TOOLS, "hand_off", ...DESCRIBED_FEATURE_TOOLS];
