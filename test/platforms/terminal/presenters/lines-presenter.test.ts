// proves: src/platforms/terminal/intake.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { InboundMessage } from "../../../../src/core/message.ts";
import { CARD } from "../../cards.ts";
import { outbound } from "../../contract.ts";
import { openTerminal, type Terminal } from "../terminal-harness.ts";

/** Lets an agent answer every message with its own text, backwards. */
function answerBackwards({ platform, inbox, turns }: Terminal): void {
  const answer = async (message: InboundMessage): Promise<void> => {
    const text = message.text.split("").toReversed().join("");
    await platform.send({ ...outbound({ platform, channel: "main" }, { text }), inReplyTo: [message.id] });
    turns.settle("answered", [message.id]);
  };
  inbox.onEvent = (event) => {
    if (event.type === "message") void answer(event);
  };
}

describe("piped messages", () => {
  test("are answered one by one, and the session ends with the last answer", async () => {
    await using terminal = await openTerminal("lines");
    answerBackwards(terminal);
    terminal.input.end("abc\n\n  \ndef");
    await terminal.platform.closed;
    assert.equal(terminal.written(), "cba\nfed\n");
    assert.deepEqual(terminal.inbox.said, ["ana: abc", "ana: def"]);
    const [event] = terminal.inbox.events;
    assert.ok(event?.type === "message" && event.kind === "dm" && event.workspace === "");
  });

  test("wait for the turn before the next line is sent", async () => {
    await using terminal = await openTerminal("lines");
    terminal.input.end("abc\ndef\n");
    await terminal.inbox.received(1);
    await terminal.platform.send({
      ...outbound({ platform: terminal.platform, channel: "main" }, { text: "1" }),
      inReplyTo: ["id-1"],
    });
    assert.deepEqual(terminal.inbox.said, ["ana: abc"]);
    terminal.turns.settle("answered", ["id-1"]);
    await terminal.inbox.received(2);
    terminal.turns.settle("stopped", ["id-3"]);
    await terminal.platform.closed;
  });

  test("go on after a skip, a stop and what could not be stored", async () => {
    await using terminal = await openTerminal("lines");
    const { inbox, turns } = terminal;
    inbox.failures.push(null, null, new Error("the disk is full"));
    inbox.onEvent = (event) =>
      queueMicrotask(() =>
        turns.settle(event.id === "id-1" ? "skipped" : "stopped", [event.id], "small talk"),
      );
    terminal.input.end("a\nb\nc\n");
    await terminal.platform.closed;
    assert.equal(
      terminal.written(),
      "(no answer: small talk)\n(stopped)\nThis could not be stored, so it was not heard: the disk is full\n",
    );
  });
});

describe("piped lines", () => {
  test("are commands where they begin with a slash", async () => {
    await using terminal = await openTerminal("lines");
    terminal.inbox.onCommand = ({ name, argument, asker }) => `${name}(${argument}) for ${asker.id}`;
    terminal.input.end("/status\n/as ben\n/context list\n/help\n/quit\nnever read\n");
    await terminal.platform.closed;
    assert.match(
      terminal.written(),
      /^status\(\) for ana\ncontext\(list\) for ben\nhelp\(\) for ben\nIn this terminal.*\n\/as NAME/,
    );
    assert.deepEqual(terminal.inbox.events, []);
  });

  test("are answered by the text of a card, without colour", async () => {
    await using terminal = await openTerminal("lines", { colour: true });
    terminal.inbox.onCommand = () => CARD;
    terminal.input.end("/context\n");
    await terminal.platform.closed;
    assert.equal(terminal.written(), `${CARD.text}\n`);
  });

  test("speak for several people where they share the session", async () => {
    await using terminal = await openTerminal("lines", { multi: true });
    answerBackwards(terminal);
    terminal.input.end("ben: hi\nhello\n");
    await terminal.platform.closed;
    assert.deepEqual(terminal.inbox.said, ["ben: hi", "ana: hello"]);
    assert.ok(terminal.inbox.events.every((event) => event.type === "message" && event.kind === "channel"));
  });

  test("serve their own channel, until nobody reads the output", async () => {
    await using terminal = await openTerminal("lines");
    const { capabilities, closed } = terminal.platform;
    assert.equal(capabilities.serves({ platform: "terminal", name: "main" }), true);
    assert.equal(capabilities.serves({ platform: "terminal", name: "other" }), false);
    assert.equal(capabilities.serves({ platform: "discord", name: "main" }), false);
    terminal.output.destroy();
    await closed;
    assert.equal(capabilities.serves({ platform: "terminal", name: "main" }), false);
  });
});
