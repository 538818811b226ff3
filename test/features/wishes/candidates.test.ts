import { channelId, turnId } from "../../../src/core/ids.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Rejection, Wish } from "../../../src/features/wishes/wish.ts";
import {
  type Candidate,
  candidatesOf,
  candidatesToShow,
  type CandidateState,
} from "../../../src/features/wishes/candidates.ts";
import { jaccard } from "../../../src/features/wishes/compare-wishes.ts";

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
    message: `m-${change.seq ?? number}`,
    refusals: [],
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

const BEN = { asker: "u-ben", askerName: "Ben" };
const CID = { asker: "u-cid", askerName: "Cid" };
/** Two people ask for it, for everybody. */
const TWICE = [wish(1, 0), wish(2, 1, BEN)];
/** One person asks for it twice, for herself. */
const OWN = { person: "u-ann" };
const OWN_TWICE = [wish(1, 0, OWN), wish(2, 1, OWN)];

test("for one person it takes two messages, and one that says it twice is one", () => {
  assert.equal(stateOf([wish(1, 0, OWN)], 1), "shadow");
  assert.equal(stateOf(OWN_TWICE, 2), "promoted");
  const again = { ...OWN, wish: "Reply in Spanish." };
  assert.equal(stateOf([wish(1, 0, OWN), wish(2, 0, { ...again, seq: 1 })], 1, again.wish), "shadow");
  const root = wish(2, 0, { ...again, channel: channelId(2), message: "m-1" });
  assert.equal(stateOf([wish(1, 0, OWN), root], 1, again.wish), "shadow", "a thread's root is its channel's");
});

/** Ids of what is shown in answers to these people. */
function shownTo(wishes: readonly Wish[], days: number, ...people: string[]): number[] {
  return candidatesToShow(wishes, new Set(people), day(days)).map(({ id }) => id);
}

test("for everybody it takes two people: one who says it ten times has it alone", () => {
  const mallory = { asker: "u-mallory", askerName: "Mallory" };
  const ten = Array.from({ length: 10 }, (_, index) => wish(index + 1, index / 10, mallory));
  assert.equal(stateOf(ten, 2), "shadow");
  assert.deepEqual(shownTo(ten, 2, "u-ann"), []);
  assert.deepEqual(shownTo(ten, 2), [], "an answer to nobody in particular");
  assert.deepEqual(shownTo(ten, 2, "u-mallory"), [1]);
  assert.deepEqual(shownTo(ten.slice(0, 1), 2, "u-mallory"), [], "one message is no habit");
  const [both] = candidatesToShow(ten, new Set(["u-ann", "u-mallory"]), day(2));
  assert.deepEqual(both?.only, new Set(["u-mallory"]));
  const renamed = [...ten, wish(11, 1, { ...mallory, askerName: "Ann" })];
  assert.deepEqual(shownTo(renamed, 2, "u-ann"), [], "who is renamed is the same person");
  const two = [...ten, wish(12, 1)];
  assert.deepEqual(shownTo(two, 2, "u-ben"), [1]);
  assert.deepEqual(shownTo(two.slice(0, -1), 2, "u-ben"), [], "and without the second one again not");
});

test("nobody gives what others ask for words of their own", () => {
  const worse = { asker: "u-mallory", wish: "Answer in Spanish rhymes." };
  const shown = (...said: Wish[]) =>
    candidatesToShow(said, new Set(["u-dora"]), day(3)).map((one) => one.wish);
  assert.deepEqual(shown(...TWICE, wish(3, 2, worse)), ["Answer in Spanish."]);
  assert.deepEqual(shown(wish(1, 0), wish(3, 2, worse)), ["Answer in Spanish."]);
  assert.deepEqual(shown(wish(1, 0, { wish: "Answer in Spanish prose." }), wish(3, 2, worse)), []);
});

test("what two people ask for is as old as what the second of them said: nobody keeps it alive alone", () => {
  const weekly = Array.from({ length: 8 }, (_, week) => wish(10 + week, 7 * week));
  assert.equal(stateOf([wish(1, 0, BEN), ...weekly], 50), "shadow");
  assert.equal(stateOf([wish(1, 45, BEN), ...weekly], 50), "promoted");
});

test("one person ends it for themselves, and two against two end it for everybody", () => {
  for (const contrary of [
    { act: "stop", wish: "Stop answering in Spanish." },
    { wish: "Answer in English." },
  ] as const) {
    const one = [...TWICE, wish(3, 2, { ...CID, ...contrary })];
    assert.equal(stateOf(one, 2), "promoted", contrary.wish);
    assert.deepEqual(shownTo(one, 2, "u-cid"), []);
    assert.deepEqual(shownTo(one, 2, "u-dora"), [1]);
    assert.deepEqual(
      shownTo(one, 2, "u-dora", "u-cid"),
      [1],
      "who is answered with others hears it with them",
    );
    const often = [...one, ...[4, 5, 6].map((id) => wish(id, 2, { ...CID, ...contrary }))];
    assert.equal(stateOf(often, 2), "promoted", "however often");
    const two = [...one, wish(7, 2, { asker: "u-dora", ...contrary })];
    assert.equal(stateOf(two, 2), "demoted");
    assert.equal(stateOf(two, 6), "shadow");
    assert.deepEqual(shownTo(two, 6, "u-ann"), []);
    const back = [...two, wish(8, 7, { asker: "u-dora" })];
    assert.equal(stateOf(back, 7), "promoted", "each person's newest word counts");
  }
});

test("what was said before the contrary stands against it as well: two newcomers overrule no ten", () => {
  const ten = Array.from({ length: 10 }, (_, index) => wish(index + 1, 0, { asker: `u-${index}` }));
  const english = [21, 22].map((id) => wish(id, 2, { asker: `u-new-${id}`, wish: "Answer in English." }));
  const said = [...ten, ...english];
  assert.equal(stateOf(said, 2), "promoted");
  assert.notEqual(stateOf(said, 2, "Answer in English."), "promoted");
});

test("who supported it and wants it no more takes their support back", () => {
  const said = [...TWICE, wish(3, 2, { ...BEN, act: "stop", wish: "Stop answering in Spanish." })];
  assert.equal(stateOf(said, 2), "shadow");
  assert.deepEqual(shownTo(said, 2, "u-ann"), []);
});

test("who wants otherwise for themselves, or has refused it, has it no more, and it stays for the others", () => {
  const own = { ...CID, person: "u-cid", wish: "Answer in English." };
  assert.deepEqual(shownTo([...TWICE, wish(3, 2, own)], 2, "u-cid"), []);
  const refused = TWICE.map((one) => ({ ...one, refusals: [{ person: "u-cid", at: day(2) }] }));
  assert.deepEqual(shownTo(refused, 3, "u-cid"), []);
  assert.deepEqual(shownTo(refused, 3, "u-dora"), [1]);
  assert.deepEqual(
    shownTo([...refused, wish(3, 3, CID)], 4, "u-cid"),
    [1],
    "until they ask for it themselves",
  );
  const alone = [1, 2].map((id) => wish(id, id, { refusals: [{ person: "u-ann", at: day(3) }] }));
  assert.deepEqual(shownTo(alone, 4, "u-ann"), []);
});

test("a candidate is in use once a turn began after it was kept", () => {
  const at = (days: number) => candidatesOf(TWICE, day(5), day(days))[0]?.state;
  assert.equal(at(1), "promoted");
  assert.equal(at(1.2), "in use");
});

test("a candidate fades: whole for seven days, then by half in thirty, and is no candidate after ninety", () => {
  const scoreAt = (days: number) => candidatesOf(OWN_TWICE, day(days))[0]?.score;
  assert.equal(scoreAt(8), 1);
  assert.equal(scoreAt(38), 0.5);
  assert.equal(stateOf(OWN_TWICE, 20), "promoted");
  assert.equal(stateOf(OWN_TWICE, 21), "shadow");
  assert.equal(stateOf([...OWN_TWICE, wish(3, 22, OWN)], 22), "promoted");
  assert.equal(stateOf(OWN_TWICE, 91), "archived");
});

test("a candidate that is said in other words within thirty days is the same, and later another one", () => {
  const again = (days: number) =>
    candidatesOf([wish(1, 0), wish(2, days, { ...BEN, wish: "Please reply in Spanish here" })], day(days));
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

test("what is for one person is demoted by the contrary for three days, and what was said before counts no more", () => {
  const english = { ...OWN, wish: "Answer in English." };
  const said = [...OWN_TWICE, wish(3, 2, english)];
  assert.equal(stateOf(said, 2), "demoted");
  assert.equal(stateOf(said, 4.9), "demoted");
  assert.equal(stateOf(said, 5), "shadow");
  assert.equal(stateOf([...said, wish(4, 6, OWN)], 6), "shadow");
  assert.equal(
    stateOf([...said, wish(4, 6, OWN), wish(5, 7, OWN)], 7),
    "shadow",
    "it was corrected: two are not enough",
  );
  const back = [...said, wish(4, 6, OWN), wish(5, 7, OWN), wish(6, 8, OWN)];
  assert.equal(stateOf(back, 8), "promoted");
  assert.equal(stateOf(back, 8, "Answer in English."), "demoted");
});

test("what is for one person is demoted by whoever wants it no more, whatever their words for it", () => {
  const stop = { ...OWN, act: "stop", wish: "Stop answering in Spanish." } as const;
  assert.equal(stateOf([...OWN_TWICE, wish(3, 2, stop)], 2), "demoted");
  assert.deepEqual(candidatesOf([wish(1, 0, stop)], day(0)), [], "that alone is no candidate");
  const other = { ...OWN, act: "stop", wish: "Stop answering in English." } as const;
  assert.equal(stateOf([...OWN_TWICE, wish(3, 2, other)], 2), "promoted");
});

test("a candidate of another number is the contrary, and one of another form is not", () => {
  const length = (lines: string) =>
    ({ ...OWN, topic: "length", wish: `Keep it under ${lines} lines.` }) as const;
  const said = [wish(1, 0, length("5")), wish(2, 0, length("5")), wish(3, 1, length("10"))];
  assert.equal(stateOf(said, 1, length("5").wish), "demoted");
  const format = (text: string) => ({ ...OWN, topic: "format", wish: text }) as const;
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
  assert.deepEqual(shownTo(said, 3, "u-ben"), [1]);
  assert.deepEqual(
    shownTo(said, 3, "u-ben", "u-ana").toSorted((a, b) => a - b),
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

test("what is shown was said by two people, or by one in two messages, and is surer than 0.75", () => {
  fc.assert(
    fc.property(anyWishes, fc.integer({ min: 0, max: 160 }), (wishes, days) => {
      for (const one of candidatesOf(wishes, day(days), day(days)).filter(isShown)) {
        assert.ok(one.evidence >= 2 && one.score >= 0.75 && one.score <= 1);
        assert.ok(new Set(one.wishes.map(({ seq, asker }) => (one.person === null ? asker : seq))).size >= 2);
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
  const own = OWN_TWICE;
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
  const other = wish(3, 4, { ...OWN, wish: "Answer in German." });
  const back = [wish(4, 8, OWN), wish(5, 9, OWN)];
  const failed = [1, 2, 3].map((turn) => rejected(turn, 2 + turn / 10));
  const [spanish] = candidatesOf([...OWN_TWICE, other, ...back], day(10), null, failed);
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
