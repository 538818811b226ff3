import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry, ToolCall } from "../../src/core/entry.ts";
import { foldHistory } from "../../src/core/history.ts";
import { effectKeys } from "../../src/turn/effect-keys.ts";
