// proves: src/memory/seen-by-tool.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { speaksOfSelf } from "../../src/memory/seen-by-tool.ts";

const OWN = [
  "I moved to Oslo in May.",
  "i'm in Oslo",
  "my bank is in Oslo",
  "MY BANK IS IN OSLO",
  "it helps me",
  "I write to info@firma.eu",
  "On Mon I moved to Boston, MA",
  "the bank is mine",
  "Ich wohne in Oslo.",
  "Das gehört mir.",
  "J'habite à Oslo.",
  "Mon chat est malade.",
  "où puis-je payer",
  "Mi banco es Nordea.",
  "mi casa está en Oslo",
  "io abito a Oslo",
  "eu moro em Oslo",
  "Я живу в Осло.",
  "我的银行是X",
  "私の銀行はa-b.ioです",
];
for (const text of OWN) test(`is of its writer: ${text}`, () => assert.equal(speaksOfSelf(text), true));

const OF_NOBODY = [
  "Mon: 12 degrees",
  "Mon 12 Nov: rain",
  "Open Mon to Fri",
  "Mon-Fri 9 to 17",
  "region: eu-central-1",
  "info@firma.eu",
  "https://status.example.io/me/my is up",
  "I/O errors: 3",
  "Boston, MA",
  "The shop in Portland, ME is open",
  "The EU has 27 members",
  "3 mi away",
  "The distance is 3mi",
  "Xiaomi Mi 11",
  "disk io: 3",
  "World War I began in 1914",
  "The mine has 3 shafts",
  "/home/ma/io is full",
  "El mes de mayo",
  "Mia Meyer leads the team",
];
for (const text of OF_NOBODY) test(`is of nobody: ${text}`, () => assert.equal(speaksOfSelf(text), false));
