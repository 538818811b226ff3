// proves: src/llm/model-provider.ts, src/llm/chat/chat-model.ts, src/llm/http/model-failure.ts, src/llm/window-search.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { useProxies } from "../../src/network/use-proxies.ts";
import { assertDiscreet, assertLearned, openHabitat, SCENES, STRICT_SCENES } from "./scenes.ts";
import { CARELESS } from "./species/careless.ts";
import { HOSTED } from "./species/hosted.ts";
import { LOCAL } from "./species/local.ts";
import { openCage } from "./zoo.ts";

const ALL = [...HOSTED, ...LOCAL, ...CARELESS];

for (const species of ALL) {
  test(species.name, async (suite) => {
    assert.ok(
      species.sources.length > 0 && species.sources.every((one) => URL.canParse(one)),
      "it names its sources",
    );
    await using cage = await openCage(species);
    // Public names lead to the zoo.
    using _ = useProxies({ http: cage.proxy, https: null, except: "" });
    await using habitat = await openHabitat(cage);
    const scenes = { ...SCENES, ...(species.isStrict === true && species.tools !== false && STRICT_SCENES) };
    for (const [name, scene] of Object.entries(scenes)) {
      if (species.scenes !== undefined && !species.scenes.includes(name)) continue;
      await suite.test(name, async () => scene(habitat));
    }
    await suite.test("nothing is refused twice for its form", () => {
      if (species.fails === undefined) assertLearned(habitat);
    });
    assertDiscreet(habitat);
  });
}
