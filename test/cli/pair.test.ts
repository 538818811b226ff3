import assert from "node:assert/strict";
import { test } from "node:test";
import { isIdOfPerson, readUser, whyNobody } from "../../src/cli/pair.ts";

const NO_ONE = { platforms: { discord: null, slack: null } };
const ONE = { platforms: { discord: {}, slack: null } };
const BOTH = { platforms: { discord: {}, slack: {} } };
const ID = "123456789012345678";

test("an id is of the one platform that is set up, or of the one that is said", () => {
  for (const typed of [ID, `discord:${ID}`, `<@${ID}>`, `<@!${ID}>`, ` ${ID} `])
    assert.deepEqual(readUser(typed, undefined, ONE), { platform: "discord", person: ID }, typed);
  assert.deepEqual(readUser(ID, "Discord", BOTH), { platform: "discord", person: ID });
  assert.deepEqual(readUser(`discord:${ID}`, undefined, BOTH), { platform: "discord", person: ID });
  assert.deepEqual(readUser("U012AB3CD", "slack", BOTH), { platform: "slack", person: "U012AB3CD" });
});

test("what is missing or wrong is said", () => {
  assert.throws(() => readUser(ID, undefined, BOTH), /--platform discord, or --platform slack\.$/);
  assert.throws(() => readUser(ID, undefined, NO_ONE), /No platform is set up here/);
  assert.throws(() => readUser(ID, "slack", ONE), /slack is no platform that is set up here: discord is\.$/);
  assert.throws(() => readUser(ID, "discrod", BOTH), /discord and slack are\. Did you mean discord\?$/);
  assert.throws(() => readUser(`discord:${ID}`, "slack", BOTH), /which one\?$/);
  assert.throws(() => readUser("", undefined, ONE), /--user takes an id/);
});

test("an id has the form of its platform's people, and else it is said who may be meant", async () => {
  assert.ok(isIdOfPerson({ platform: "discord", person: ID }));
  assert.ok(isIdOfPerson({ platform: "slack", person: "U012AB3CD" }));
  for (const [platform, person] of [
    ["discord", "sam"],
    ["discord", "U012AB3CD"],
    ["discord", "1234"],
    ["slack", ID],
    ["slack", "C012AB3CD"],
    ["slack", "u012ab3cd"],
    ["terminal", ID],
  ] as const)
    assert.ok(!isIdOfPerson({ platform, person }), `${platform}:${person}`);
  const sam = { platform: "discord", person: ID, name: "sam", code: "CODE", askedAt: new Date() };
  const store = {
    pairing: { open: async () => Promise.resolve([sam]) },
    people: { known: async () => Promise.resolve([]) },
  };
  const why = async (platform: string, person: string): Promise<string> =>
    whyNobody(store, { platform, person });
  assert.match(
    await why("discord", "Sam"),
    /^Sam is no id of a person on Discord\. Did you mean 1234.* \(sam\)\?/,
  );
  assert.match(await why("discord", "nobody-near"), /Where it stands: "Copy User ID"/);
  assert.match(await why("slack", "u012ab3cd"), /Did you mean U012AB3CD\?$/);
});
