import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { OutboundMessage } from "../../../../src/core/message.ts";
import type { CompactionNews } from "../../../../src/platforms/terminal/turn-news.ts";
import type { TerminalOptions } from "../../../../src/platforms/terminal/terminal-platform.ts";
import fc from "fast-check";
import { CARD } from "../../cards.ts";
import { outbound } from "../../contract.ts";
import { FakeScreen } from "../fake-screen.ts";
import { openTerminal, type Terminal } from "../terminal-harness.ts";

interface Session extends Terminal {
  readonly screen: FakeScreen;
  /** Sends a piece of an answer, or the whole of it. */
  send(text: string, more?: Partial<OutboundMessage>): Promise<string>;
  edit(id: string, text: string, final?: boolean): Promise<void>;
  /** What the person sees below the header. */
  seen(): string;
}

async function open(options: Partial<TerminalOptions> = {}): Promise<Session> {
  const terminal = await openTerminal("interactive", options);
  const screen = new FakeScreen(40);
  screen.write(terminal.written());
  terminal.output.on("data", (chunk: string) => screen.write(chunk));
  const message = (text: string, more: Partial<OutboundMessage>): OutboundMessage =>
    outbound({ platform: terminal.platform, channel: "main" }, { text, ...more });
  return {
    ...terminal,
    screen,
    send: (text, more = {}) => terminal.platform.send(message(text, more)),
    edit: (id, text, final = false) => terminal.platform.edit(id, message(text, { final })),
    seen: () => screen.text.slice(screen.text.indexOf("\n\n") + 2),
  };
}

const PIECE = { final: false };

function compaction(phase: CompactionNews["phase"]): CompactionNews {
  const tokensAfter = phase === "committed" ? 310 : null;
  const range = { fromSeq: 1, toSeq: 120, tokensBefore: 8200, tokensAfter, memories: 4, ms: 3210 };
  return { channel: "terminal:main", phase, kind: "leaf", tier: "background", ...range };
}

describe("the interactive terminal", () => {
  test("greets with agent, channel and where help is", async () => {
    await using session = await open();
    assert.equal(
      session.screen.text,
      "This is weirdo, in the channel terminal:\nmain.\n/help shows what you can type, Ctrl-D lea\nves.\n\nana>".replace(
        "lea\nves",
        "le\naves",
      ),
    );
    assert.deepEqual(session.screen.cursor, { row: 5, column: 5 });
  });

  test("shows what was said, that the agent thinks, and its answer as it grows", async () => {
    await using session = await open();
    session.input.write("hello\r");
    await session.inbox.received(1);
    assert.equal(session.seen(), "ana> hello\n(weirdo is thinking) ana>");
    const id = await session.send("The ri", { ...PIECE, inReplyTo: ["id-1"] });
    assert.equal(session.seen(), "ana> hello\nweirdo> The\nana>");
    await session.edit(id, "The river rises, the weir holds, and what sinks is kept");
    assert.equal(
      session.seen(),
      "ana> hello\nweirdo> The river rises, the weir\nholds, and what sinks is\nana>",
    );
    await session.edit(id, "The river rises, the weir holds, and what sinks is kept.\nAlways.", true);
    assert.match(session.seen(), /kept\.\nAlways\.\nana>$/);
  });

  test("keeps a half-typed line whole while text appears above it", async () => {
    await using session = await open();
    const id = await session.send("One", PIECE);
    const typed = "a line that is longer than the forty cells of this terminal";
    session.input.write(typed);
    session.input.write("\u001B[D\u001B[D");
    const before = session.screen.cursor;
    await session.edit(id, "One, two");
    await session.edit(id, "One, two, three.", true);
    assert.equal(
      session.seen(),
      "weirdo> One, two, three.\nana> a line that is longer than the fort\ny cells of this terminal",
    );
    assert.deepEqual(session.screen.cursor, before);
    session.input.write("X\r");
    await session.inbox.received(1);
    assert.deepEqual(session.inbox.said, [`ana: ${typed.slice(0, -2)}X${typed.slice(-2)}`]);
  });

  test("goes on below what was said in the middle of an answer", async () => {
    await using session = await open();
    const id = await session.send("One, two", PIECE);
    session.input.write("and then?\r");
    await session.inbox.received(1);
    await session.edit(id, "One, two, three.", true);
    assert.equal(session.seen(), "weirdo> One,\nana> and then?\n… two, three.\n(weirdo is thinking) ana>");
  });
});

describe("a command while an answer is being written in the interactive terminal", () => {
  test("is shown with its answer, below the answer's end", async () => {
    await using session = await open();
    const id = await session.send("One, two", PIECE);
    session.input.write("/context\r/status\r");
    await session.writes(/\/context, \/status follows/);
    await session.edit(id, "One, two, three");
    await session.edit(id, "One, two, three.", true);
    await session.writes(/did status/);
    assert.equal(
      session.seen(),
      "weirdo> One, two, three.\nana> /context\ndid context\nana> /status\ndid status\nana>",
    );
  });

  test("is shown once an answer is stopped that has no last piece", async () => {
    await using session = await open();
    await session.send("One, two", { ...PIECE, inReplyTo: ["id-1"] });
    session.input.write("/context\r");
    await session.writes(/follows/);
    session.turns.settle("failed", ["id-1"]);
    await session.writes(/did context/);
    assert.equal(session.seen(), "weirdo> One,\nana> /context\ndid context\nana>");
  });

  test("is shown within an answer that has stalled", async () => {
    await using session = await open();
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const id = await session.send("One, two", PIECE);
      session.input.write("/why\r");
      await session.writes(/follows/);
      await setImmediate();
      assert.doesNotMatch(session.seen(), /did why/);
      mock.timers.tick(6000);
      await session.writes(/did why/);
      await session.edit(id, "One, two, three.", true);
      assert.equal(session.seen(), "weirdo> One, two\nana> /why\ndid why\n… , three.\nana>");
    } finally {
      mock.timers.reset();
    }
  });

  test("leaves the remarks about it where they were: below the answer", async () => {
    await using session = await open();
    const id = await session.send("One, two", PIECE);
    session.input.write("and then?\r");
    await session.inbox.received(1);
    session.turns.tell({ type: "compaction", news: compaction("committed") });
    await setImmediate();
    await session.edit(id, "One, two, three.", true);
    assert.match(session.seen(), /^weirdo> One,\nana> and then\?\n… two, three\.\n\(120 older/);
  });
});

describe("/help in the interactive terminal", () => {
  test("has the common commands, and with `all` each of them and the keys", async () => {
    const common = { name: "remember", help: "keep a statement", isCommon: true, argument: null } as const;
    await using session = await open({
      commands: [common, { name: "rare", help: "seldom", argument: null }],
    });
    session.output.columns = 80;
    session.input.write("/help\r");
    await session.writes(/and the keys\r\n/);
    assert.deepEqual(session.written().match(/\/\w+ (?:all)? .*/g), [
      "/remember  keep a statement",
      "/quit      leave (so does Ctrl-D)",
      "/help all  every command with what it takes, and the keys",
    ]);
    assert.deepEqual(session.inbox.commands, []);
    session.input.write("/help all\r");
    await session.writes(/did help\s+In this terminal[^]*Ctrl-C {2}end/);
  });
});

describe("an answer that ends otherwise in the interactive terminal", () => {
  test("keeps to the width that the terminal has now", async () => {
    await using session = await open();
    const id = await session.send("- one two three four", PIECE);
    session.output.columns = 15;
    session.output.emit("resize");
    await session.edit(id, "- one two three four five six seven eight", true);
    assert.equal(session.seen(), "weirdo>\n- one two three\n  four five\n  six seven\n  eight\nana>");
  });

  test("is on the screen with all its letters, however it comes and whatever is typed meanwhile", async () => {
    const pieces = fc.array(fc.constantFrom("ab", "日本", " ", "\n", "\n- ", "**", "`", "x".repeat(50)), {
      minLength: 1,
      maxLength: 30,
    });
    const letters = (text: string): string => text.replaceAll(/[^ab日本x]/g, "");
    await fc.assert(
      fc.asyncProperty(
        pieces,
        fc.array(fc.nat(30), { maxLength: 5 }),
        fc.boolean(),
        async (parts, cuts, colour) => {
          await using session = await open({ agent: "w", speaker: "s", colour });
          let text = "";
          const id = await session.send("", PIECE);
          for (const [index, part] of parts.entries()) {
            text += part;
            await session.edit(id, text);
            if (!cuts.includes(index)) continue;
            session.input.write(index % 2 === 0 ? "ooo" : "ooo\r");
            await setImmediate();
          }
          await session.edit(id, `${text}.`, true);
          assert.equal(letters(session.seen()), letters(text));
        },
      ),
      { numRuns: 150 },
    );
  });

  test("goes on where an answer was stopped, whatever its last piece ended with", async () => {
    await using session = await open();
    const id = await session.send("One, two \n", PIECE);
    await session.edit(id, "One, two… (stopped)", true);
    assert.equal(session.seen(), "weirdo> One, two… (stopped)\nana>");
  });

  test("starts over, and says so, when an answer does", async () => {
    await using session = await open();
    const id = await session.send("One, tw", PIECE);
    await session.edit(id, "Uno, dos.", true);
    assert.equal(session.seen(), "weirdo> One,\n(the answer starts again)\nweirdo> Uno, dos.\nana>");
  });
});

describe("the interactive terminal's screen", () => {
  test("fills rows exactly, and with wide letters, without losing its place", async () => {
    const text = `${"x".repeat(32)}y日本語${"日本語".repeat(8)}z\nend`;
    for (let size = 1; size < 9; size += 1) {
      await using session = await open();
      session.input.write("typed");
      const id = await session.send(text.slice(0, size), PIECE);
      for (let end = size; end < text.length; end += size) await session.edit(id, text.slice(0, end));
      await session.edit(id, text, true);
      assert.equal(session.seen().replaceAll("\n", ""), `weirdo>${text.replaceAll("\n", "")}ana> typed`);
    }
  });

  test("obeys nothing that an answer or a name holds", async () => {
    await using session = await open({ agent: "we\u001B[2Jird", speaker: "a\u009Bna" });
    await session.send("\u001B[2J\u001B[5Agone\u0007\r!\u009B31m");
    assert.match(session.seen(), /^we␛\[2Jird> ␛\[2J␛\[5Agone␇␍!\uFFFD31m\na\uFFFDna>$/);
  });
});

describe("what is typed into the interactive terminal", () => {
  test("is a command where it begins with a slash", async () => {
    await using session = await open();
    session.input.write("/status now\r");
    await session.writes(/did status/);
    assert.deepEqual(session.inbox.commands, [
      {
        channel: { platform: "terminal", name: "main" },
        where: { channel: { platform: "terminal", name: "main" }, kind: "dm", workspace: "" },
        name: "status",
        argument: "now",
        asker: { id: "ana", name: "ana", roles: [] },
      },
    ]);
    assert.equal(session.seen(), "ana> /status now\ndid status\nana>");
  });

  test("is one message where it was pasted as several lines", async () => {
    await using session = await open();
    session.input.write("see: \u001B[200~if (a)\r\tb();\r\u001B[201~thanks\r");
    await session.inbox.received(1);
    assert.deepEqual(session.inbox.said, ["ana: see: if (a)\n\tb();\nthanks"]);
    assert.match(session.seen(), /^ana> see: if \(a\)\n {2}… +b\(\);\n {2}… thanks\n/);
  });

  test("is nothing where it is empty", async () => {
    await using session = await open();
    const id = await session.send("One", PIECE);
    session.input.write("\r\r");
    await session.edit(id, "One, two.", true);
    assert.equal(session.seen(), "weirdo> One, two.\nana>");
    assert.deepEqual(session.inbox.events, []);
  });

  test("changes the speaker with /as, and leaves with /quit", async () => {
    await using session = await open();
    session.input.write("/as ben\rhi\r");
    await session.inbox.received(1);
    assert.deepEqual(session.inbox.said, ["ben: hi"]);
    session.input.write("/quit\r");
    await session.platform.closed;
  });
});

describe("Ctrl-C and Ctrl-D in the interactive terminal", () => {
  test("Ctrl-D ends the session, and what is being written is finished", async () => {
    let interrupts = 0;
    await using session = await open({ onInterrupt: () => interrupts++ });
    session.input.write("hm\r");
    await session.inbox.received(1);
    const id = await session.send("One", { ...PIECE, inReplyTo: ["id-1"] });
    session.input.write("\u0004");
    await session.platform.closed;
    assert.equal(interrupts, 1);
    await session.edit(id, "One, two.", true);
    assert.match(
      session.seen(),
      /^ana> hm\nweirdo>\n\(finishing 1 answer; Ctrl-C ends at\n[^]*\n… One, two\.$/,
    );
    assert.ok(session.written().includes("\u001B[?2004l"));
  });

  test("whoever leaves a Weir that goes on is told that it does, and who is shown the answer", async () => {
    await using session = await open({ isAttached: true });
    session.input.write("hm\r");
    await session.inbox.received(1);
    session.input.write("\u0004");
    await session.writes(/\(Weir goes on with 1 answer, for the/);
    assert.doesNotMatch(session.seen(), /finishing/);
  });

  test("Ctrl-C ends the answer that is being written, else drops the line; a second one leaves", async () => {
    let interrupts = 0;
    await using session = await open({ onInterrupt: () => interrupts++ });
    session.input.write("hm\r");
    await session.inbox.received(1);
    session.input.write("half\u0003");
    await session.writes(/did stop/);
    assert.deepEqual(
      session.inbox.commands.map(({ name, asker }) => [name, asker.id]),
      [["stop", "ana"]],
    );
    session.turns.settle("stopped", ["id-1"]);
    await setImmediate();
    assert.match(session.seen(), /did stop\nana> half$/);
    session.input.write("\u0003");
    await setImmediate();
    assert.match(session.seen(), /did stop\nana>$/);
    session.input.write("\u0003");
    await session.writes(/again to leave/);
    assert.match(session.seen().replaceAll("\n", ""), /\(Ctrl-C again to leave\) ana>$/);
    assert.equal(interrupts, 0);
    session.input.write("\u0003");
    await session.platform.closed;
    assert.equal(interrupts, 1);
    assert.deepEqual(session.inbox.said, ["ana: hm"]);
  });

  test("Ctrl-C leaves also where nothing can be stopped", async () => {
    await using session = await open();
    session.input.write("hm\r");
    await session.inbox.received(1);
    for (const pattern of [/did stop/, /again to leave/]) {
      session.input.write("\u0003");
      await session.writes(pattern);
    }
    session.input.write("\u0003");
    await session.platform.closed;
  });
});

describe("the line editor of the interactive terminal", () => {
  test("goes on in the next line behind a backslash, and between three quotation marks", async () => {
    await using session = await open();
    session.input.write('one\\\rtwo\r"""\rif (a)\r  b"""\r');
    await session.inbox.received(2);
    assert.deepEqual(session.inbox.said, ["ana: one\ntwo", "ana: if (a)\n  b"]);
    assert.match(session.seen(), /^ana> one\\\n {2}… two\n/);
    session.turns.settle("stopped", ["id-1", "id-2"]);
    await setImmediate();
    session.input.write("three\\\rfour\u0003");
    await session.writes(/four/);
    session.input.write("five\r");
    await session.inbox.received(3);
    assert.equal(session.inbox.said[2], "ana: five");
  });

  test("has one line while a paste is edited, and a few words where the paste is long", async () => {
    await using session = await open();
    session.input.write("\u001B[200~one\ntwo\u001B[201~");
    await session.writes(/two/);
    assert.equal(session.seen(), "ana> one␤two");
    session.input.write("\u007F\u007F\u007F\u007F and more\r");
    await session.inbox.received(1);
    const long = Array.from({ length: 300 }, (_, index) => `line ${index}`).join("\r");
    session.input.write(`see \u001B[200~${long.slice(0, 50)}`);
    session.input.write(`${long.slice(50)}\u001B[20`);
    session.input.write("1~!\r");
    await session.inbox.received(2);
    assert.match(session.seen(), /ana> see \[paste 1: 300 lines\]!/);
    assert.deepEqual(session.inbox.said, ["ana: one and more", `ana: see ${long.replaceAll("\r", "\n")}!`]);
  });

  test("obeys nothing that a paste holds", async () => {
    await using session = await open();
    session.input.write("\u001B[200~a\u0003b\u001B[Dc\u0004\u001B[201~\r");
    await session.inbox.received(1);
    assert.deepEqual(session.inbox.said, ["ana: ab[Dc"]);
  });
});

describe("what the line editor of the interactive terminal knows", () => {
  test("offers again what was said, and has it kept for the next session", async () => {
    const kept: string[] = [];
    const history = {
      lines: ["older\nstill"],
      add: (text: string) => kept.push(text),
      clear: () => (kept.length = 0),
    };
    await using session = await open({ history });
    session.input.write("one\\\rtwo\r");
    await session.inbox.received(1);
    session.input.write("\u001B[A");
    await session.writes(/one␤two/);
    session.input.write("\u001B[A\r");
    await session.inbox.received(2);
    assert.deepEqual(session.inbox.said, ["ana: one\ntwo", "ana: older\nstill"]);
    assert.deepEqual(kept, ["one\ntwo", "older\nstill"]);
    // It has words, which is all that the command makes of it.
    session.input.write("/forget me and my boat yes\r");
    await session.writes(/did forget/);
    assert.deepEqual(kept.length, 3);
    session.input.write("/forget  ME everywhere  yes\r");
    await session.writes(/did forget[^]*did forget/);
    assert.deepEqual(kept, []);
  });

  test("completes from the table of commands, and knows what the terminal itself answers", async () => {
    const argument = { name: "what", form: "list | detail KEY", help: "" };
    await using session = await open({ commands: [{ name: "context", help: "", argument }] });
    session.input.write("/con");
    session.input.write("\t");
    await session.writes(/text /);
    session.input.write("d");
    session.input.write("\t");
    await session.writes(/etail/);
    session.input.write("\r");
    await session.writes(/did context/);
    assert.equal(session.inbox.commands[0]?.argument, "detail");
    session.input.write("/qit\r");
    await session.writes(/mean\s+\/quit/);
    assert.equal(session.inbox.commands.length, 1);
  });
});

describe("an intake that was stopped", () => {
  test("takes nothing more of what is typed", async () => {
    await using session = await open();
    await session.platform.stopIntake();
    session.input.write("too late\r");
    await session.send("Bye.");
    assert.equal(session.seen(), "weirdo> Bye.");
    assert.deepEqual(session.inbox.events, []);
  });
});

describe("an answer in the interactive terminal", () => {
  test("shows answers as they are written after /raw", async () => {
    await using session = await open({ colour: true });
    await session.send("a **b**");
    session.input.write("/raw\r");
    await session.writes(/as they are written/);
    await session.send("a **b**");
    assert.match(session.seen(), /^weirdo> a b\n[^]*\nweirdo> a \*\*b\*\*\nana>$/);
  });

  test("has the word at which it pauses", async () => {
    await using session = await open();
    const id = await session.send("The ri", PIECE);
    await session.writes(/ri/);
    assert.equal(session.seen(), "weirdo> The ri\nana>");
    await session.edit(id, "The river.", true);
    assert.equal(session.seen(), "weirdo> The river.\nana>");
  });
});

describe("what else the interactive terminal tells", () => {
  test("is why there is no answer, and what is out of view", async () => {
    await using session = await open();
    session.input.write("hm\r");
    await session.inbox.received(1);
    session.turns.settle("skipped", ["id-1"], "small talk");
    session.turns.tell({ type: "emergency", news: { channel: "terminal:main", omitted: 1234 } });
    await session.writes(/1,234 older/);
    await setImmediate();
    assert.match(session.seen(), /^ana> hm\n\(no answer: small talk\)\n\(1,234 older messages are out/);
    assert.match(session.seen(), /\nana>$/);
  });

  test("is how long an answer is waited for, and that the model is asked again", async () => {
    let now = Date.parse("2026-05-01T12:00:00Z");
    await using session = await open({ now: () => new Date(now) });
    session.input.write("hm\r");
    await session.inbox.received(1);
    now += 4200;
    session.turns.tell({ type: "retry", news: { channel: "terminal:main", attempt: 2, of: 4 } });
    await session.writes(/trying/);
    assert.match(
      session.seen().replaceAll("\n", ""),
      /\(weirdo is thinking, 4 s, trying again \(2 of 4\)\) ana>$/,
    );
    await session.send("Here.", { inReplyTo: ["id-1"] });
    assert.match(session.seen(), /Here\.\nana>$/);
  });

  test("is what there is to say to whoever comes", async () => {
    await using session = await open({ commands: [{ name: "recap", help: "", argument: null }] });
    await session.writes(/did recap/);
    assert.equal(session.seen(), "did recap\nana>");
  });
});

describe("what the interactive terminal tells of summaries", () => {
  test("is what is being summarised, until it lands", async () => {
    await using session = await open();
    session.input.write("half a li");
    session.turns.tell({ type: "compaction", news: compaction("started") });
    await session.writes(/summarising/);
    assert.equal(session.seen().replaceAll("\n", ""), "(summarising 120 older messages) ana> half a li");
    session.turns.tell({ type: "compaction", news: compaction("committed") });
    await session.writes(/120 older messages summarised/);
    await setImmediate();
    assert.match(
      session.seen(),
      /^\(120 older messages summarised: 8,200 →\n310 tokens, 3\.2 s, 4 memories\)\nana> half a li$/,
    );
    session.turns.tell({ type: "compaction", news: compaction("started") });
    session.turns.tell({ type: "compaction", news: compaction("failed") });
    await setImmediate();
    assert.match(session.seen(), /memories\)\nana> half a li$/);
  });

  test("does not break into an answer that is being written", async () => {
    await using session = await open();
    const id = await session.send("The river", PIECE);
    session.turns.tell({ type: "compaction", news: compaction("started") });
    session.turns.tell({ type: "compaction", news: compaction("committed") });
    await session.edit(id, "The river rises");
    assert.equal(session.seen(), "weirdo> The river\nana>");
    await session.edit(id, "The river rises.", true);
    assert.match(session.seen(), /^weirdo> The river rises\.\n\(120 older messages summarised/);
  });

  test("is what went wrong", async () => {
    await using session = await open();
    session.inbox.failures.push(new Error("the disk is full"));
    session.input.write("hm\r");
    await session.writes(/disk is full/);
    await session.send("Sorry, that failed.", { kind: "notice" });
    assert.match(
      session.seen().replaceAll("\n", ""),
      /it was not ?heard: the disk is fullweir> Sorry, that failed\.ana>$/,
    );
  });

  test("ends with its subscriptions and listeners", async () => {
    const session = await open();
    await session.platform[Symbol.asyncDispose]();
    assert.equal(session.turns.listeners, 0);
    assert.equal(session.output.listenerCount("resize"), 0);
  });
});

describe("a command typed into the interactive terminal", () => {
  test("is answered by a drawing where the answer is a card, above the line that is being typed", async () => {
    await using session = await open({ colour: true });
    session.inbox.onCommand = () => CARD;
    session.input.write("/context\rhalf a li");
    await session.writes(/system 640/);
    assert.ok(session.written().includes(`\u001B[33m${"█".repeat(30)}`));
    assert.match(session.seen(), /^ana> \/context\n#river-watch[^]*86 % of[^]*system 640\nana> half a li$/);
  });
});
