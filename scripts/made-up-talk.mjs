/**
 * A made-up conversation, the same in every run, for the pictures in the README.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

export const ROOT = join(import.meta.dirname, "..");
export const MAIN = join(ROOT, "src", "main.ts");
const MESSAGES = 400;

const PEOPLE = ["Ann", "Bob", "Cem", "Dora"];
/** Each makes a sentence of a number that rises. */
const SENTENCES = [
  (n) => `the reading at gauge ${1 + (n % 9)} was ${(2 + (n % 70) / 100).toFixed(2)} m this morning`,
  (n) => `we agreed that the inspection of the lower weir is on the ${1 + (n % 28)}th at 14:30`,
  (n) => `I prefer the library for meeting ${n}, the mill is too cold in November`,
  (n) => `could someone bring volume ${n} of the green book to the library?`,
  (n) => `I will send report ${n} to the council before Friday`,
  (n) => `the permit says in section ${n} that the fish ladder stays open from March on`,
  (n) => `the pump was serviced, invoice ${2000 + n}, 480 EUR`,
  (n) => `the motor of sluice ${1 + (n % 4)} draws ${10 + (n % 7)} A, too much for the old fuse`,
  (n) =>
    `let us keep gate ${1 + (n % 4)} closed until the level is under ${(2 + (n % 30) / 100).toFixed(2)} m`,
  (n) => `the council wants the numbers of the last ${n} years as a table`,
];

/** @returns the lines of a recording of so many messages, with times of May 2026 */
function madeUpTalk(messages, channel) {
  let state = 7;
  const below = (limit) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % limit;
  };
  let at = Date.parse("2026-05-01T08:00:00Z");
  return Array.from({ length: messages }, (_, index) => {
    at += below(90) * 60_000;
    const said = Array.from({ length: 1 + below(3) }, () => SENTENCES[below(SENTENCES.length)](index + 1));
    const ts = new Date(at).toISOString();
    return JSON.stringify({
      conversation_id: channel,
      author: PEOPLE[below(PEOPLE.length)],
      ts,
      text: said.join("; "),
    });
  });
}

/**
 * Replays it through Weir, with the built-in stand-in as its model.
 * @param work is given the folder of that Weir, and what runs a command there and returns what it prints
 */
export async function withTalk(channel, work) {
  const cwd = mkdtempSync(join(tmpdir(), "weir-picture-"));
  const weir = (...args) =>
    execFileSync(process.execPath, [MAIN, ...args], {
      cwd,
      encoding: "utf8",
      env: { PATH: process.env["PATH"] ?? "" },
      stdio: ["ignore", "pipe", "ignore"],
    });
  try {
    writeFileSync(join(cwd, "config.toml"), '[defaults]\nmodel = "offline"\ncontext_window = 16000\n');
    writeFileSync(join(cwd, "talk.jsonl"), `${madeUpTalk(MESSAGES, channel).join("\n")}\n`);
    weir("replay", "talk.jsonl", "--channel", channel, "--reply-every", "25");
    return await work(cwd, weir);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}
