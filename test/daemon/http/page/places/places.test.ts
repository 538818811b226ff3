import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ACTS,
  DOWNLOADS,
  linksOf,
  PLACES,
  refusalOf,
  SIGN_OUT_PATH,
} from "../../../../../src/daemon/http/page/places/places.ts";

test("an operator is refused nothing; a viewer all that does not say what they see of it, and every form but one", () => {
  const all = [...PLACES, ...DOWNLOADS];
  assert.ok(all.some(({ viewer }) => viewer !== undefined) && all.some(({ viewer }) => viewer === undefined));
  for (const { path, viewer } of all) {
    assert.equal(refusalOf("operator", "GET", path), null);
    assert.equal(refusalOf("viewer", "GET", path) === null, viewer !== undefined, path);
    for (const near of [`${path}/`, `${path}x`, path.toUpperCase()].filter((one) => one !== path))
      assert.equal(refusalOf("viewer", "GET", near), "This is not shown to viewers.", near);
  }
  for (const path of [...ACTS, ...all].map((one) => one.path)) {
    assert.equal(refusalOf("operator", "POST", path), null);
    assert.equal(refusalOf("viewer", "POST", path), "A viewer may look, and change nothing.", path);
  }
  assert.equal(refusalOf("viewer", "POST", SIGN_OUT_PATH), null);
  assert.notEqual(refusalOf("viewer", "GET", SIGN_OUT_PATH), null);
});

test("the navigation has what is not refused", () => {
  assert.deepEqual(
    linksOf("operator", "/").map(({ path }) => path),
    PLACES.flatMap(({ name, path }) => (name === null ? [] : [path])),
  );
  for (const { path } of linksOf("viewer", "/")) assert.equal(refusalOf("viewer", "GET", path), null);
});
