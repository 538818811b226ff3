/**
 * Draws `docs/page.png`, the page of a channel in a browser: `npm run screenshots`, where Chromium or Chrome is installed.
 *
 * It is the page of a real `weir demo`, shortly before its end.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { findBrowser, startBrowser } from "../test/support/browser.ts";

const ROOT = path.join(import.meta.dirname, "..");
const CHANNEL = "/page/channel?id=terminal:hut";
/** How fast the demo runs while it is looked at: a summary takes as much less. */
const SPEED = "3";
/** Messages of the demo after which the picture is taken. */
const LOOKED_AT = 330;
const SIZE = { width: 1180, height: 860 };

const program = findBrowser();
if (program === null) throw new Error("neither Chromium nor Chrome is installed here");
const demo = spawn(process.execPath, [path.join(ROOT, "src/main.ts"), "demo", "--speed", SPEED], {
  stdio: ["ignore", "pipe", "inherit"],
});
await using browser = await startBrowser(program);
const tab = await browser.newTab();
await tab.resize(SIZE.width, SIZE.height);
let origin = "";
let said = 0;
for await (const line of createInterface(demo.stdout)) {
  const address = /^ +(http:\S+)$/.exec(line)?.[1];
  if (address !== undefined) {
    await tab.open(address);
    await tab.until("document.querySelector('h1')?.textContent === 'Overview'");
    ({ origin } = new URL(address));
  }
  if (/^\w+ {2,}\S/.test(line)) said++;
  if (said < LOOKED_AT) continue;
  await tab.open(`${origin}${CHANNEL}`);
  writeFileSync(path.join(ROOT, "docs/page.png"), await tab.picture());
  break;
}
demo.kill("SIGINT");
await once(demo, "exit");
