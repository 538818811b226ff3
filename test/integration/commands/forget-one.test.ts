// proves: src/admin/commands/forget.ts, src/store/deletion/personal-data.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { agentId, type ChannelId } from "../../../src/core/ids.ts";
import type { Asker } from "../../../src/platforms/platform.ts";
import { foldBehind, rememberIn } from "../../store/remember.ts";
import { rowsWith } from "../../store/rows-with.ts";
import { ANN, authorOf, BEN, command } from "../../support/commands.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { openScene, type Scene } from "../../support/compaction.ts";

const OURS = "zxqann";
const THEIRS = "zxqben";

async function statements({ open }: Scene): Promise<unknown[]> {
  const rows = await open.sql("select statement from memories order by id");
  return rows.map(({ statement }) => statement);
}

const OWNERS = { top: OWNED };

async function mill({ open }: Scene): Promise<ChannelId> {
  const address = { platform: "discord", name: "mill" };
  return open.store.channels.open({ address, kind: "channel", workspace: "w", agent: agentId("main") });
}

/** Ann says something, Ben says it too; Ann alone says another thing in the same message. */
async function remembered(scene: Scene): Promise<{ both: number; anns: number; bens: number; own: number }> {
  const { open } = scene;
  const id = await mill(scene);
  const first = await open.say(id, `the mill is old, ${OURS}`, { addressed: false, author: authorOf(ANN) });
  const second = await open.say(id, `the mill is old, ${THEIRS}`, {
    addressed: false,
    author: authorOf(BEN),
  });
  const third = await open.say(id, "fine", {
    addressed: false,
    author: { id: "u-fake", name: "Ann", isBot: false },
  });
  const bear = async (statement: string, assertedBy: string, ...seqs: number[]): Promise<number> =>
    rememberIn(open, id, {
      statement,
      assertedBy,
      sources: seqs.map((seq) => ({ seq, quote: "the mill" })),
    });
  return {
    both: await bear("The mill is old.", "Ann", first, second, third),
    anns: await bear("There is a mill.", "Ann", first),
    bens: await bear("Ben knows the mill.", "Ben", second),
    own: await bear("It is fine.", "Ann", third),
  };
}

test("/forget NUMBER: is for the one who said it, by id and not by name, and for owners", async () => {
  await using scene = await openScene();
  const { both, bens } = await remembered(scene);
  await using weir = await scene.start(OWNERS);
  const before = await statements(scene);
  const fake: Asker = { id: "u-fake", name: "Ann", roles: [] };
  for (const asker of [BEN, fake]) {
    assert.equal(
      await command(weir, "mill", `forget ${both}`, asker, "discord"),
      `#${both} is Ann's statement: only Ann or an owner may have it forgotten. ` +
        "Whoever runs Weir names them in config.toml, as owners or owner_roles under [platforms.discord].",
    );
  }
  assert.match(await command(weir, "mill", `forget ${bens}`, ANN, "discord"), /^#\d+ is Ben's statement/);
  assert.match(
    await command(weir, "mill", "forget 999999", ANN, "discord"),
    /^There is no memory #999999 here/,
  );
  assert.deepEqual(await statements(scene), before);
});

test("/forget NUMBER: takes the asker's messages that it comes from, and what these alone have borne; others' messages stay", async () => {
  await using scene = await openScene();
  const { both } = await remembered(scene);
  await using weir = await scene.start(OWNERS);
  assert.equal(
    await command(weir, "mill", `forget #${both}`, ANN, "discord"),
    `Forgotten: #${both}, "The mill is old.". 1 message that it came from lost its text, in the log and in summaries. ` +
      "1 memory more came from there alone, and went, too. 2 messages of others that say so stay: they are theirs.",
  );
  assert.deepEqual(await statements(scene), ["Ben knows the mill.", "It is fine."]);
  assert.deepEqual(await rowsWith(scene.open, OURS), []);
  assert.notDeepEqual(await rowsWith(scene.open, THEIRS), []);
});

test("/forget NUMBER: of an owner takes all messages that it comes from", async () => {
  await using scene = await openScene();
  const { both } = await remembered(scene);
  await using weir = await scene.start(OWNERS);
  assert.match(
    await command(weir, "mill", `forget ${both}`, OWNER, "discord"),
    /3 messages that it came from lost their text.* 3 memories more came from there alone, and went, too\.$/,
  );
  assert.deepEqual(await statements(scene), []);
  for (const word of [OURS, THEIRS]) assert.deepEqual(await rowsWith(scene.open, word), []);
});

test("/forget NUMBER: alone it explains, and lists what the asker has said first, by id and not by name", async () => {
  await using scene = await openScene();
  const { both, anns, own } = await remembered(scene);
  await using weir = await scene.start(OWNERS);
  const shown = await command(weir, "mill", "forget", ANN, "discord");
  assert.match(shown, /^\/forget NUMBER forgets a memory.*\/forget me forgets everything/);
  assert.deepEqual(
    [...shown.matchAll(/^- #(\d+) /gm)].map(([, number]) => Number(number)),
    [anns, both],
  );
  const fakes = await command(
    weir,
    "mill",
    "forget something",
    { id: "u-fake", name: "Ann", roles: [] },
    "discord",
  );
  assert.deepEqual(
    [...fakes.matchAll(/#(\d+) /g)].map(([, number]) => Number(number)),
    [own],
  );
  assert.match(
    await command(weir, "mill", "forget", OWNER, "discord"),
    /No statement of yours is remembered here\.$/,
  );
});

test("/forget NUMBER: takes what the asker has said of the same in other words, of an owner everybody's; others' stays, and shows", async () => {
  for (const [asker, taken, stays] of [
    [ANN, ["The mill is old.", "There is a mill."], ["Ben knows the mill.", "It is fine."]],
    [OWNER, ["The mill is old.", "There is a mill.", "Ben knows the mill."], []],
  ] as const) {
    await using scene = await openScene();
    const { both, anns, bens } = await remembered(scene);
    const ownProof = await scene.open.say(await mill(scene), "there is a mill", {
      addressed: false,
      author: authorOf(ANN),
    });
    await scene.open.sql("update memory_sources set seq = $1 where memory_id = $2", ownProof, anns);
    await foldBehind(scene.open, both, anns, bens);
    await using weir = await scene.start(OWNERS);
    assert.doesNotMatch(await command(weir, "mill", "memory", ANN, "discord"), new RegExp(`#${bens} `));
    const answer = await command(weir, "mill", `forget ${both}`, asker, "discord");
    const left = await statements(scene);
    for (const statement of taken) assert.ok(!left.includes(statement), statement);
    assert.deepEqual(left, stays);
    if (asker !== ANN) continue;
    assert.match(answer, /^Forgotten: .* 2 messages that it came from lost their text/);
    assert.match(answer, /2 messages of others that say so stay: they are theirs\.$/);
    assert.notDeepEqual(await rowsWith(scene.open, THEIRS), []);
    assert.match(await command(weir, "mill", "memory", BEN, "discord"), new RegExp(`#${bens} `));
  }
});
