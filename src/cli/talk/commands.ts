import { type Command, Option } from "commander";
import type { CommonOptions, Io } from "../io.ts";
import { wholeNumber, withConfig } from "../options.ts";
import type { ReplayOptions } from "../replay/replay.ts";
import type { ChatOptions } from "./chat.ts";

/** Adds the commands that talk: the daemon, the chat, what was said once. */
export function addTalk(program: Command, io: Io): void {
  addDaemon(program, io);
  addChat(program, io);
}

function addDaemon(program: Command, io: Io): void {
  withConfig(program.command("start"))
    .description("run the daemon; in a terminal, with a chat")
    .action(async (options: CommonOptions) => {
      const { start } = await import("./session.ts");
      await start(io, options);
    });
}

function addChat(program: Command, io: Io): void {
  withConfig(program.command("chat"))
    .description("talk to an agent here, through the daemon if one runs; piped lines are answered one by one")
    .option("--channel <name>", "the conversation; default: the agent's id")
    .option("--agent <id>", "who answers; default: the first agent of the configuration")
    .option("--as <name>", "who you are; default: your name on this machine")
    .option("--multi", "several people share this terminal: a line `name: text` speaks as that name")
    .option("--jsonl", "for scripts: JSON lines in and out, many channels side by side")
    .action(async (options: ChatOptions) => {
      const { chat } = await import("./chat.ts");
      await chat(io, options);
    });
  withConfig(program.command("replay"))
    .argument("<file>", "JSON lines of {conversation_id, author, ts, text}; ts as 2026-05-01T12:00:00Z")
    .description("send recorded messages through the same pipeline")
    .option("--channel <name>", "all into this channel; default: a channel for each conversation")
    .option("--agent <id>", "who answers; default: the first agent of the configuration")
    .option("--reply-every <n>", "every n-th message of a channel wants a reply; 0: none", wholeNumber, 20)
    .addOption(
      new Option("--speed <speed>", "max: as fast as it goes; real: as it was said")
        .choices(["max", "real"])
        .default("max"),
    )
    .action(async (file: string, options: ReplayOptions) => {
      const { replay } = await import("../replay/replay.ts");
      await replay(io, file, options);
    });
}
