import { channelId, turnId } from "../../src/core/ids.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Rejection, Wish } from "../../src/core/wish.ts";
import {
  type Candidate,
  candidatesOf,
  candidatesToShow,
  type CandidateState,
  jaccard,
} from "../../src/memory/candidates.ts";

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 10, 1);
const day = (days: number): Date => new Date(START + days * DAY_MS);

/** Somebody says in a message of its own how they want to be answered, and it is kept an hour later. */
function wish(number: number, days: number, change: Partial<Wish> = {}): Wish {
  const at = change.at ?? day(days);
  return {
    id: number,
    channel: channelId(1),
    seq: number,
    act: "want",
    topic: "language",
    person: null,
    asker: "u-ann",
    askerName: "Ann",
    wish: "Answer in Spanish.",
    quote: "in Spanish",
    at,
    learnedAt: new Date(at.getTime() + 3_600_000),
    ...change,
  };
}

function stateOf(
  wishes: readonly Wish[],
  days: number,
  text = "Answer in Spanish.",
): CandidateState | undefined {
  return candidatesOf(wishes, day(days)).findLast((one) => one.wish === text)?.state;
}

const TWICE = [wish(1, 0), wish(2, 1)];

test("a candidate is promoted by two messages, and one that says it twice is one", () => {
  assert.equal(stateOf([wish(1, 0)], 1), "shadow");
  assert.equal(stateOf(TWICE, 2), "promoted");
  assert.equal(
    stateOf([wish(1, 0), wish(2, 0, { seq: 1, wish: "Reply in Spanish." })], 1, "Reply in Spanish."),
    "shadow",
  );
});

test("a candidate is in use once a turn began after it was kept", () => {
  const at = (days: number) => candidatesOf(TWICE, day(5), day(days))[0]?.state;
  assert.equal(at(1), "promoted");
  assert.equal(at(1.2), "in use");
});

test("a candidate fades: whole for seven days, then by half in thirty, and is no candidate after ninety", () => {
  const scoreAt = (days: number) => candidatesOf(TWICE, day(days))[0]?.score;
  assert.equal(scoreAt(8), 1);
  assert.equal(scoreAt(38), 0.5);
  assert.equal(stateOf(TWICE, 20), "promoted");
  assert.equal(stateOf(TWICE, 21), "shadow");
  assert.equal(stateOf([...TWICE, wish(3, 22)], 22), "promoted");
  assert.equal(stateOf(TWICE, 91), "archived");
});

test("a candidate that is said in other words within thirty days is the same, and later another one", () => {
  const again = (days: number) =>
    candidatesOf([wish(1, 0), wish(2, days, { wish: "Please reply in Spanish here" })], day(days));
  assert.deepEqual(
    again(29).map(({ evidence, id }) => [id, evidence]),
    [[1, 2]],
  );
  assert.deepEqual(
    again(31).map(({ evidence, id }) => [id, evidence]),
    [
      [1, 1],
      [2, 1],
    ],
  );
});

test("a candidate is demoted by the contrary for three days, and what was said before counts no more", () => {
  const english = { wish: "Answer in English." };
  const said = [...TWICE, wish(3, 2, english)];
  assert.equal(stateOf(said, 2), "demoted");
  assert.equal(stateOf(said, 4.9), "demoted");
  assert.equal(stateOf(said, 5), "shadow");
  assert.equal(stateOf([...said, wish(4, 6)], 6), "shadow");
  assert.equal(
    stateOf([...said, wish(4, 6), wish(5, 7)], 7),
    "shadow",
    "it was corrected: two are not enough",
  );
  const back = [...said, wish(4, 6), wish(5, 7), wish(6, 8)];
  assert.equal(stateOf(back, 8), "promoted");
  assert.equal(stateOf(back, 8, "Answer in English."), "demoted");
});

test("a candidate is demoted by whoever wants it no more, whatever their words for it", () => {
  const stop = { act: "stop", wish: "Stop answering in Spanish." } as const;
  assert.equal(stateOf([...TWICE, wish(3, 2, stop)], 2), "demoted");
  assert.deepEqual(candidatesOf([wish(1, 0, stop)], day(0)), [], "that alone is no candidate");
  const other = { act: "stop", wish: "Stop answering in English." } as const;
  assert.equal(stateOf([...TWICE, wish(3, 2, other)], 2), "promoted");
});

test("a candidate of another number is the contrary, and one of another form is not", () => {
  const length = (lines: string) => ({ topic: "length", wish: `Keep it under ${lines} lines.` }) as const;
  const said = [wish(1, 0, length("5")), wish(2, 0, length("5")), wish(3, 1, length("10"))];
  assert.equal(stateOf(said, 1, length("5").wish), "demoted");
  const format = (text: string) => ({ topic: "format", wish: text }) as const;
  const lists = [
    wish(1, 0, format("Use bullet lists.")),
    wish(2, 0, format("Use bullet lists.")),
    wish(3, 1, format("Use metric units.")),
  ];
  assert.equal(stateOf(lists, 1, "Use bullet lists."), "promoted");
  const none = [...lists, wish(4, 1, format("Do not use bullet lists."))];
  assert.equal(stateOf(none, 1, "Use bullet lists."), "demoted");
});

test("a candidate for one person counts where they said it, is shown to them alone, and is nobody else's contrary", () => {
  const ana = { person: "u-ana", asker: "u-ana", askerName: "Ana", wish: "Answer in English." };
  const said = [...TWICE, wish(3, 2, ana), wish(4, 2, ana), wish(5, 2, { ...ana, asker: "u-ben" })];
  const shownTo = (...people: string[]) =>
    candidatesToShow(said, new Set(people), day(3)).map(({ id }) => id);
  assert.deepEqual(shownTo("u-ben"), [1]);
  assert.deepEqual(
    shownTo("u-ben", "u-ana").toSorted((a, b) => a - b),
    [1, 3],
  );
  assert.equal(candidatesOf(said, day(3)).find(({ id }) => id === 3)?.evidence, 2);
});

const TEXTS = [
  "Answer in Spanish.",
  "Answer in English.",
  "Please reply in Spanish",
  "Do not answer in Spanish.",
];
const anyWish = fc.record({
  seq: fc.integer({ min: 1, max: 6 }),
  days: fc.integer({ min: 0, max: 60 }),
  wish: fc.constantFrom(...TEXTS),
  act: fc.constantFrom("want", "want", "want", "stop"),
  topic: fc.constantFrom("language", "format"),
  person: fc.constantFrom(null, null, "u-ann", "u-ben"),
  asker: fc.constantFrom("u-ann", "u-ben"),
});
const anyWishes = fc
  .array(anyWish, { maxLength: 10 })
  .map((all) => all.map(({ days, ...change }, index) => wish(index + 1, days, change as Partial<Wish>)));

const isShown = ({ state }: Candidate): boolean => state === "promoted" || state === "in use";

test("what is shown was said in two messages since it was last corrected, and is surer than 0.75", () => {
  fc.assert(
    fc.property(anyWishes, fc.integer({ min: 0, max: 160 }), (wishes, days) => {
      for (const one of candidatesOf(wishes, day(days), day(days)).filter(isShown)) {
        assert.ok(one.evidence >= 2 && one.score >= 0.75 && one.score <= 1);
        assert.ok(new Set(one.wishes.map(({ seq }) => seq)).size >= 2);
        assert.ok(one.person === null || one.wishes.every(({ asker }) => asker === one.person));
      }
    }),
  );
});

test("their order does not matter", () => {
  fc.assert(
    fc.property(anyWishes, (wishes) => {
      assert.deepEqual(candidatesOf(wishes.toReversed(), day(61)), candidatesOf(wishes, day(61)));
    }),
  );
});

/** Somebody marks an answer that began on a day as a bad one. */
function rejected(turn: number, days: number, person = "u-ann"): Rejection {
  return { turn: turnId(turn), at: day(days), person };
}

test("answers that failed lower its score: three of them put what one person wants back into the shadow", () => {
  const own = TWICE.map((one) => ({ ...one, person: "u-ann" }));
  const after = (...rejections: Rejection[]): [CandidateState | undefined, number | undefined] => {
    const [one] = candidatesOf(own, day(5), null, rejections);
    return [one?.state, one?.failures];
  };
  assert.deepEqual(after(rejected(1, 2), rejected(2, 3)), ["promoted", 2]);
  assert.deepEqual(after(rejected(1, 2), rejected(2, 3), rejected(3, 4)), ["shadow", 3]);
  assert.deepEqual(
    after(rejected(1, 2), rejected(1, 2), rejected(1, 2)),
    ["promoted", 1],
    "of one answer once",
  );
  assert.deepEqual(
    after(...[1, 2, 3].map((turn) => rejected(turn, 2, "u-ben"))),
    ["promoted", 0],
    "somebody else",
  );
  assert.deepEqual(
    after(...[1, 2, 3].map((turn) => rejected(turn, 0.5))),
    ["promoted", 0],
    "before it was kept",
  );
  const four = [1, 2, 3, 4].map((turn) => rejected(turn, 1 + turn / 2));
  assert.deepEqual(after(...four), ["shadow", 3], "in the shadow it was shown for none");
  assert.equal(candidatesToShow(own, new Set(["u-ann"]), day(5), four).length, 0);
  const again = candidatesOf([...own, { ...wish(3, 4), person: "u-ann" }], day(5), null, four.slice(0, 3));
  assert.equal(again[0]?.state, "promoted", "said once more, it is used again");
});

test("nobody ends alone what is for everybody, however many answers they mark", () => {
  const many = Array.from({ length: 20 }, (_, index) => rejected(index, 2 + index / 10, "u-mallory"));
  assert.equal(candidatesOf(TWICE, day(5), null, many)[0]?.state, "promoted");
  const three = ["u-ann", "u-ben", "u-cid"].map((person, index) => rejected(index, 2, person));
  assert.equal(candidatesOf(TWICE, day(5), null, three)[0]?.state, "shadow");
});

test("what was corrected begins anew, without the failures of before", () => {
  const other = wish(3, 4, { wish: "Answer in German." });
  const back = [wish(4, 8), wish(5, 9)];
  const failed = [1, 2, 3].map((turn) => rejected(turn, 2 + turn / 10));
  const [spanish] = candidatesOf([...TWICE, other, ...back], day(10), null, failed);
  assert.equal(spanish?.failures, 0);
});

test("a rejection makes none surer and promotes none", () => {
  const anyRejection = fc.record({
    turn: fc.integer({ min: 1, max: 9 }).map(turnId),
    at: fc.integer({ min: 0, max: 60 }).map(day),
    person: fc.constantFrom("u-ann", "u-ben", "u-cid"),
  });
  fc.assert(
    fc.property(anyWishes, fc.array(anyRejection, { maxLength: 12 }), (wishes, rejections) => {
      const before = candidatesOf(wishes, day(61));
      for (const [index, one] of candidatesOf(wishes, day(61), null, rejections).entries()) {
        const was = before[index];
        assert.ok(was !== undefined && one.score <= was.score && one.failures <= rejections.length);
        assert.ok(!isShown(one) || isShown(was));
      }
    }),
  );
});

test("time alone makes none surer, promotes none that has not cooled down, and ends each", () => {
  fc.assert(
    fc.property(
      anyWishes,
      fc.integer({ min: 60, max: 160 }),
      fc.integer({ min: 0, max: 60 }),
      (wishes, days, more) => {
        const before = candidatesOf(wishes, day(days));
        const later = candidatesOf(wishes, day(days + more));
        assert.equal(later.length, before.length);
        for (const [index, one] of later.entries()) {
          const was = before[index];
          assert.ok(was !== undefined && one.score <= was.score);
          assert.ok(!isShown(one) || isShown(was) || was.state === "demoted");
          assert.ok(was.state !== "archived" || one.state === "archived");
        }
        assert.ok(candidatesOf(wishes, day(151)).every(({ state }) => state === "archived"));
      },
    ),
  );
});

test("whoever wants none any more has none shown", () => {
  fc.assert(
    fc.property(anyWishes, (wishes) => {
      const shown = candidatesOf(wishes, day(61)).filter(isShown);
      const stops = shown.map(({ wish: text, topic, person }, index) =>
        wish(100 + index, 61, { act: "stop", wish: text, topic, person, asker: person ?? "u-ann" }),
      );
      const left = candidatesOf([...wishes, ...stops], day(61));
      assert.deepEqual(
        left.filter((one) => isShown(one) && shown.some(({ id }) => id === one.id)),
        [],
      );
    }),
  );
});

test("without corrections a wish that goes leaves none surer of itself", () => {
  const anyWants = anyWishes.map((all) =>
    all.map((one) => ({ ...one, act: "want" as const, wish: "Answer in Spanish." })),
  );
  fc.assert(
    fc.property(anyWants, fc.nat(), (wishes, which) => {
      const left = wishes.filter((_, index) => index !== which % Math.max(1, wishes.length));
      const count = (all: readonly Wish[]) => candidatesOf(all, day(61)).filter(isShown).length;
      assert.ok(count(left) <= count(wishes));
    }),
  );
});

test("the share of words that two texts have in common", () => {
  assert.equal(jaccard(new Set(["a", "b"]), new Set(["b", "c"])), 1 / 3);
  assert.equal(jaccard(new Set(), new Set()), 0);
});
