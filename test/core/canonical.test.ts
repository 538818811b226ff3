import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { canonical, contentParts, endOf } from "../../src/core/canonical.ts";
import type { ModelImage, ModelMessage } from "../../src/core/context.ts";

const CAT: ModelImage = { type: "image/png", base64: "CAT" };
const DOG: ModelImage = { type: "image/png", base64: "DOG" };

function user(text: string, images?: readonly ModelImage[]): ModelMessage {
  return { role: "user", text, ...(images !== undefined && { images }) };
}

function assistant(text: string, ...ids: readonly string[]): ModelMessage {
  return { role: "assistant", text, calls: ids.map((id) => ({ id, name: "look", arguments: "{}" })) };
}

function result(callId: string): ModelMessage {
  return { role: "tool", callId, text: "found" };
}

function shown(pieces: readonly ModelMessage[]): string[] {
  return canonical(pieces).messages.map(({ role, text }) => `${role}: ${text}`);
}

describe("the canonical form", () => {
  test("joins neighbours of one role, a piece a line", () => {
    assert.deepEqual(shown([user("a"), user("b"), assistant("c"), assistant("d"), user("e")]), [
      "user: a\nb",
      "assistant: c\nd",
      "user: e",
    ]);
  });

  test("has the system text first and once", () => {
    const pieces: ModelMessage[] = [
      { role: "system", text: "s" },
      user("a"),
      { role: "system", text: "t" },
      user("b"),
    ];
    assert.deepEqual(shown(pieces), ["system: s\nt", "user: a\nb"]);
  });

  test("leaves out what says nothing, and joins what stood round it", () => {
    assert.deepEqual(shown([user("a"), assistant(""), user(" \n"), user("b")]), ["user: a\nb"]);
    assert.deepEqual(canonical([user("a"), assistant("")]).places, [{ message: 0, from: 0 }, null]);
  });

  test("keeps each call with its results", () => {
    const pieces = [user("a"), assistant("let me see"), assistant("", "1", "2"), result("1"), result("2")];
    const { messages } = canonical(pieces);
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["user", "assistant", "tool", "tool"],
    );
    assert.deepEqual(messages[1], assistant("let me see", "1", "2"));
  });

  test("says where each piece stands", () => {
    const pieces = [user("one"), user("two"), assistant("three"), user("four")];
    const { messages, places } = canonical(pieces);
    for (const [index, piece] of pieces.entries()) {
      const place = places[index];
      assert.ok(place);
      const { message, length } = endOf(place, piece);
      assert.equal(messages[message]?.text.slice(place.from, length), piece.text);
    }
  });

  test("is its own canonical form", () => {
    const { messages } = canonical([
      user("a"),
      user("b", [CAT]),
      assistant("c", "1"),
      result("1"),
      user("d"),
    ]);
    assert.deepEqual(canonical(messages).messages, messages);
  });
});

describe("pictures in the canonical form", () => {
  test("stay behind the line that they came with", () => {
    const [message] = canonical([user("a"), user("cat", [CAT]), user("dog", [DOG]), user("b")]).messages;
    assert.ok(message?.role === "user");
    const parts = contentParts(message).map((part) => ("image" in part ? part.image.base64 : part.text));
    assert.deepEqual(parts, ["a\ncat", "CAT", "\ndog", "DOG", "\nb"]);
  });

  test("are told from what else a user says where they are of results", () => {
    const images = (text: string): ModelMessage => ({ role: "user", text, images: [CAT], isOfImages: true });
    const [both, mixed] = [
      [images("1"), images("2")],
      [images("1"), user("2")],
    ].map((pieces) => canonical(pieces).messages[0]);
    assert.ok(both?.role === "user" && mixed?.role === "user");
    assert.deepEqual([both.isOfImages, mixed.isOfImages], [true, undefined]);
  });
});

describe("parts of a message's content", () => {
  test("are its text, cut where something stable ends", () => {
    assert.deepEqual(contentParts(user("one two three"), [3, 7, 99]), [
      { text: "one", isEnd: true },
      { text: " two", isEnd: true },
      { text: " three", isEnd: false },
    ]);
    assert.deepEqual(contentParts(user("one"), [0, 3]), [{ text: "one", isEnd: true }]);
  });
});
