// proves: src/platforms/terminal/screen.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import headless from "@xterm/headless";
import { outbound } from "../contract.ts";
import { openTerminal } from "./terminal-harness.ts";

/** What is on a real terminal, which wraps its rows anew when its width changes. */
async function rowsAfterResize(typed: string, columns: number): Promise<string[]> {
  await using session = await openTerminal("interactive");
  const screen = new headless.Terminal({
    cols: 40,
    rows: 24,
    allowProposedApi: true,
    reflowCursorLine: true,
  });
  const shown = async (): Promise<void> => new Promise((resolve) => screen.write("", resolve));
  screen.write(session.written());
  session.output.on("data", (chunk: string) => screen.write(chunk));
  const message = outbound(
    { platform: session.platform, channel: "main" },
    { text: "The first row.\nThe last row." },
  );
  await session.platform.send({ ...message, final: true });
  session.input.write(typed);
  await shown();
  screen.resize(columns, 24);
  session.output.columns = columns;
  session.output.emit("resize");
  await shown();
  session.input.write("!");
  await shown();
  const { active } = screen.buffer;
  const rows = Array.from(
    { length: active.length },
    (_, row) => active.getLine(row)?.translateToString(true) ?? "",
  );
  screen.dispose();
  const first = rows.findIndex((row) => row.includes("The first row."));
  return rows.slice(first).filter((row) => row !== "");
}

const TYPED = "a line that is longer than the forty cells of this terminal";

test("a terminal that grows wider keeps the last answer above a line that is being typed", async () => {
  assert.deepEqual(await rowsAfterResize(TYPED, 80), [
    "weirdo> The first row.",
    "The last row.",
    `ana> ${TYPED}!`,
  ]);
});

test("a terminal that grows narrower keeps the last answer, and shows the line that is being typed once", async () => {
  const rows = await rowsAfterResize(TYPED, 25);
  assert.deepEqual(rows.slice(0, 2), ["weirdo> The first row.", "The last row."]);
  assert.equal(rows.slice(2).join(""), `ana> ${TYPED}!`);
});
