// proves: src/memory/support-gate.ts, src/memory/statement-support.ts, src/memory/told-as.ts, src/memory/measures.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkMemories } from "../../src/memory/gates.ts";
import { said } from "./said.ts";

/** Why a statement of one line is refused; null: it is kept. @param line with the name of its speaker */
function why(line: string, statement: string, part?: string): string | null {
  const [name = "", ...rest] = line.split(": ");
  const text = rest.join(": ");
  const author = { id: `u-${name}`, name, isBot: false };
  const { dropped } = checkMemories(
    { memories: [{ type: "fact", subject: name, statement, quote: part ?? text, sources: [1] }] },
    {
      sources: new Map([[1, said(1, text, { author })]]),
      promptText: "",
      agentName: "Weir",
      dayOf: (at) => at.toISOString().slice(0, 10),
    },
  );
  return dropped[0]?.reason ?? null;
}

type Case = readonly [line: string, statement: string, part?: string];

function refused(reason: string, cases: readonly Case[]): void {
  for (const [line, statement, part] of cases)
    test(`refused: ${line} → ${statement}`, () => assert.equal(why(line, statement, part), reason));
}

function kept(cases: readonly Case[]): void {
  for (const [line, statement, part] of cases)
    test(`kept: ${line} → ${statement}`, () => assert.equal(why(line, statement, part), null));
}

describe("a number in Chinese characters is compared with what was said", () => {
  refused("unsaid", [
    ["健太: 猫を二匹飼っています", "健太は猫を三匹飼っている。"],
    ["健太: 猫を三匹飼っています", "健太は猫を一匹飼っている。"],
    ["健太: 子供が三人います", "健太には子供が五人いる。"],
    ["健太: 家賃は八万円です", "健太の家賃は九万円だ。"],
    ["健太: 会議は三時からです", "健太の会議は四時からだ。"],
    ["健太: 本を二百冊持っています", "健太は本を三百冊持っている。"],
    ["健太: 予算は三億円です", "健太の予算は三万円だ。"],
    ["健太: 家賃は8万円です", "健太の家賃は9万円だ。"],
    ["健太: 猫を2匹飼っています", "健太は猫を三匹飼っている。"],
  ]);
  kept([
    ["健太: 猫を二匹飼っています", "健太は猫を二匹飼っている。"],
    ["健太: 猫を二匹飼っています", "健太は猫を2匹飼っている。"],
    ["健太: 猫を2匹飼っています", "健太は猫を二匹飼っている。"],
    ["健太: 家賃は八万円です", "健太の家賃は8万円だ。"],
    ["健太: 家賃は8万円です", "健太の家賃は80000円だ。"],
    ["健太: 大阪の家の家賃は80,000円です", "健太の大阪の家の家賃は八万円だ。"],
    ["健太: 私は一人で大阪に住んでいます", "健太は一人で大阪に住んでいる。"],
    ["健太: 私は寝るのが一番好きです", "健太は寝るのが一番好きだ。"],
    ["健太: 休みは十分もらっています", "健太は休みを十分もらっている。"],
    ["健太: 私は千葉に住んでいます", "健太は千葉に住んでいる。"],
  ]);
});

describe("a time of day is compared as a time", () => {
  refused("unsaid", [
    ["Ann: my train leaves at 7:15", "Ann's train leaves at 15:07."],
    ["Ann: my train leaves at 7:15", "Ann's train leaves at 7:00."],
    ["Ann: my train leaves at 3pm", "Ann's train leaves at 3 am."],
    ["Ann: my train leaves at 3:30 pm", "Ann's train leaves at 3:45 pm."],
    ["健太: 会議は午後3時からです", "健太の会議は午前3時からだ。"],
    ["健太: 会議は午後3時からです", "健太の会議は16時からだ。"],
  ]);
  kept([
    ["Ann: my train leaves at 7:15", "Ann's train leaves at 7:15."],
    ["Ann: my train leaves at 9 and arrives at 10:30", "Ann's train leaves at 9:00 and arrives at 10:30."],
    [
      "Ann: it took me 2 hours and 15 minutes to get to the mill",
      "Ann takes 2 hours and 15 minutes to the mill.",
    ],
    ["Ann: my train leaves at 7:15 in the evening", "Ann's train leaves at 19:15."],
    ["Ann: my train leaves at 3pm", "Ann's train leaves at 3 p.m."],
    ["Ann: my train leaves at 3pm", "Ann's train leaves at 15:00."],
    ["Ann: my train leaves at 15:00", "Ann's train leaves at 3 pm."],
    ["Ann: my train leaves at 12:30 am", "Ann's train leaves at 0:30."],
    ["Ann: my train leaves at seven fifteen", "Ann's train leaves at 7:15."],
    ["Timo: mein Zug fährt um 7 Uhr 15", "Timos Zug fährt um 7:15 Uhr."],
    ["Timo: mein Zug fährt um 7.15 Uhr", "Timos Zug fährt um 7:15 Uhr."],
    ["健太: 会議は午後3時からです", "健太の会議は15時からだ。"],
    ["健太: 会議は午後三時からです", "健太の会議は15時からだ。"],
    ["健太: 部の会議は毎週月曜の15時30分からです", "健太の部の会議は毎週月曜の午後3時半からだ。"],
    ["健太: 毎日3時間歩きます", "健太は毎日3時間歩く。"],
  ]);
});

describe("an amount has the unit and the size that were said", () => {
  refused("unsaid", [
    ["Ann: I paid 50 euros for the lamp", "Ann paid 50 dollars for the lamp."],
    ["Ann: I paid €50 for the lamp", "Ann paid $50 for the lamp."],
    ["Ann: I paid 50 € for the lamp", "Ann paid 50 pounds sterling for the lamp."],
    ["Ann: I sold the firm for 3 million", "Ann sold the firm for 3 billion."],
    ["Ann: I sold the firm for three million", "Ann sold the firm for three thousand."],
    ["Ann: my trip takes 3 weeks", "Ann's trip takes 3 months."],
    ["Ann: I run 5 km a day", "Ann runs 5 miles a day."],
    ["Ann: I run 5km a day", "Ann runs 5 miles a day."],
    ["Jana: die Heizung kostet 8.400 Euro", "Die Heizung kostet 8.400 Franken."],
    ["健太: 家賃は500ドルです", "健太の家賃は500円だ。"],
  ]);
  kept([
    ["Ann: I paid 50 euros for the lamp", "Ann paid €50 for the lamp."],
    ["Ann: I paid 50 for the lamp", "Ann paid 50 euros for the lamp."],
    ["Ann: I paid $1,250 for the lamp", "Ann paid 1250 dollars for the lamp."],
    ["Ann: I paid 50 bucks for the lamp", "Ann paid $50 for the lamp."],
    ["Ann: I sold the firm for 3 million", "Ann sold the firm for 3,000,000."],
    ["Ann: I sold the firm for two thousand", "Ann sold the firm for 2000."],
    ["Ann: I sold the firm for 2,000", "Ann sold the firm for two thousand."],
    ["Ann: I sold the firm for 3 to 4 million", "Ann sold the firm for 3 to 4 million."],
    ["Ann: I run 5 km a day", "Ann runs 5 kilometres a day."],
    ["Ann: I have worked here 3 years, and before that 3 months at the mill", "Ann has worked here 3 years."],
    ["Ann: my mast is 5 m long", "Ann's mast is 5 m long."],
    ["Ann: my mast is 5 metres long", "Ann's mast is 5 m long."],
  ]);
});

describe("one of a thing may be told in digits", () => {
  kept([
    ["Inés: tengo un perro y dos gatos", "Inés tiene 1 perro y 2 gatos."],
    ["Ann: I have a dog", "Ann has 1 dog."],
  ]);
  refused("unsaid", [
    ["Inés: tengo dos perros y una casa", "Inés tiene 1 perro."],
    ["Ann: I have 3 dogs and a cat", "Ann has 1 dog."],
  ]);
});

describe("what the quote ends, hates or fails is not affirmed", () => {
  refused("negation", [
    ["Ann: I stopped smoking", "Ann smokes."],
    ["Ann: I hate Berlin", "Ann likes Berlin."],
    ["Ann: I failed the exam", "Ann passed the exam."],
    ["Ann: we cancelled the trip to Rome", "The group takes a trip to Rome."],
    ["Tom: I refused the offer", "Tom accepted the offer."],
    ["Ann: I gave up the violin", "Ann plays the violin."],
    ["Anna: Ich habe mit dem Rauchen aufgehört", "Anna raucht."],
    ["Ana: Dejé de fumar", "Ana fuma."],
    ["Ann: I loathe coriander", "Ann likes coriander."],
    ["Ann: I dropped out of the course", "Ann takes the course."],
    ["Inés: cancelamos el viaje a Roma", "El grupo hace un viaje a Roma."],
    ["Ana: odio Madrid", "A Ana le gusta Madrid."],
    ["Léa: j'ai arrêté de fumer", "Léa fume."],
    ["健太: タバコをやめました", "健太はタバコを吸う。"],
    ["健太: 私は納豆が嫌いです", "健太は納豆が好きだ。"],
    ["Ann: I used to live in Oslo", "Ann lives in Oslo."],
    ["Ann: I used to be a nurse", "Ann is a nurse."],
    ["Ann: I almost bought a boat in Oslo", "Ann bought a boat in Oslo."],
    ["Ann: I wanted to buy a boat in Oslo", "Ann bought a boat in Oslo."],
    ["Ann: I pretended to be a doctor", "Ann is a doctor."],
    ["Timo: ich wollte ein Boot in Kiel kaufen", "Timo hat ein Boot in Kiel gekauft."],
    ["Timo: ich hätte fast ein Boot in Kiel gekauft", "Timo hat ein Boot in Kiel gekauft."],
    ["Inés: quería comprar un barco en Cádiz", "Inés compró un barco en Cádiz."],
  ]);
  kept([
    ["Ann: I stopped smoking", "Ann stopped smoking."],
    ["Ann: I stopped smoking", "Ann no longer smokes."],
    ["Ann: I stopped smoking", "Ann gave up smoking."],
    ["Ann: I stopped smoking", "Ann used to smoke."],
    ["Ann: I quit my job", "Ann left her job."],
    ["Ann: I quit my job at the mill", "Ann resigned from the mill."],
    ["Ann: I hate Berlin", "Ann dislikes Berlin."],
    ["Ann: I'm allergic to nuts", "Ann has a nut allergy."],
    ["Ann: I miss Berlin", "Ann misses Berlin."],
    ["Ann: I miss my old flat in Berlin", "Ann had a flat in Berlin."],
    ["Ann: I spent too much on the red bike", "Ann bought a red bike."],
    ["Ann: we stopped in Rome for two days", "Ann's group was in Rome for two days."],
    ["Ann: I live near the bus stop in Oslo", "Ann lives near the bus stop in Oslo."],
    ["Ann: I quit my job and moved to Oslo", "Ann moved to Oslo."],
    ["Ann: I skip breakfast on Mondays", "Ann skips breakfast on Mondays."],
    ["Ann: I avoid gluten", "Ann avoids gluten."],
    ["Ann: I never stop learning Italian", "Ann is learning Italian."],
    ["Ann: the build failed on node 22", "The build breaks on node 22."],
    ["Ann: I failed the exam twice, then I passed it in May", "Ann passed the exam in May."],
    ["Ann: I gave up my flat in Oslo and moved to Kiel", "Ann moved from Oslo to Kiel."],
    ["Ann: I used to live in Oslo", "Ann used to live in Oslo."],
    ["Ann: I used to live in Oslo", "Ann lived in Oslo."],
    ["Ann: I am used to the cold in Oslo", "Ann is used to the cold in Oslo."],
    ["Ann: I used to work at the mill and now I teach maths", "Ann teaches maths."],
    ["Ann: I almost bought a boat in Oslo", "Ann almost bought a boat in Oslo."],
    ["Ann: I wanted to buy a boat in Oslo", "Ann wanted to buy a boat in Oslo."],
    ["Ann: I've lived in Oslo for almost three years", "Ann has lived in Oslo for almost three years."],
    ["Ann: I just wanted to say that I moved to Oslo", "Ann moved to Oslo."],
    ["Timo: ich habe mit dem Rauchen aufgehört", "Timo raucht nicht mehr."],
    ["健太: タバコをやめました", "健太はタバコをやめた。"],
    ["健太: タバコをやめました", "健太は禁煙した。タバコを吸わない。"],
    ["健太: 車を駅前に止めました", "健太は車を駅前に止めた。"],
  ]);
});

describe("an ordinary German noun is no name", () => {
  kept([
    ["Jana: wir haben uns für Variante B entschieden", "Das Team hat sich für Variante B entschieden."],
    ["Jana: unser Haus ist im Mai fertig", "Das Haus ist im Mai fertig."],
    ["Jana: Umzug ist im Mai", "Der Termin für den Umzug ist im Mai."],
    ["Jana: meine Tochter heißt Lena und ist 7", "Janas Tochter heißt Lena und ist 7 Jahre alt."],
  ]);
  refused("unsaid", [
    ["Jana: wir fahren im Mai weg", "Die Gruppe fährt im Mai mit Marvin weg."],
    ["Jana: ich wohne seit 7 Jahren in Kiel", "Jana wohnt seit 7 Jahren in Reykjavik."],
  ]);
});

describe("what is said of a relative is not the speaker's", () => {
  refused("speaker", [
    ["Ann: my brother is allergic to nuts", "Ann is allergic to nuts."],
    ["Ann: my boss is pregnant", "Ann is pregnant."],
    ["Ann: yeah, my little sister works at the mill", "Ann works at the mill."],
    ["Ann: my mother-in-law lives in Oslo", "Ann lives in Oslo."],
    ["Anna: Mein Vater hat Diabetes", "Anna hat Diabetes."],
    ["Anna: meine Schwiegermutter wohnt in Kiel", "Anna wohnt in Kiel."],
    ["Inés: mi hermana vive en Cádiz", "Inés vive en Cádiz."],
    ["Léa: ma sœur habite à Lyon", "Léa habite à Lyon."],
    ["健太: 妹は医者です", "健太は医者だ。"],
    ["健太: 母は大阪に住んでいます", "健太は大阪に住んでいる。"],
  ]);
  kept([
    ["Ann: my brother is allergic to nuts", "Ann's brother is allergic to nuts."],
    ["Ann: my brother is allergic to nuts", "Ann has a brother who is allergic to nuts."],
    ["Ann: my brother and I moved to Oslo", "Ann moved to Oslo."],
    ["Ann: my brother gave me a dog", "Ann has a dog."],
    ["Ann: my sister is in Oslo, so I live in Oslo", "Ann lives in Oslo."],
    ["Ann: my car is a red Volvo", "Ann drives a red Volvo."],
    ["Ann: my job is at the mill", "Ann works at the mill."],
    ["Ann: I moved to Oslo with my brother", "Ann moved to Oslo."],
    ["Ann: my kids go to the forest school", "Ann's children go to the forest school."],
    ["Anna: Mein Vater hat Diabetes", "Annas Vater hat Diabetes."],
    ["健太: 妹は医者です", "健太の妹は医者だ。"],
    ["健太: 妹と大阪に住んでいます", "健太は大阪に住んでいる。"],
  ]);
});

describe("a joke or a proposal beside the quote is not the quote", () => {
  kept([
    ["Ann: it looked as if it would rain. I was born in Kiel", "Ann was born in Kiel.", "I was born in Kiel"],
    ["Ann: my favourite joke book is gone, I own 200 books", "Ann owns 200 books.", "I own 200 books"],
    [
      "Ann: just kidding Ben. Anyway: my rent goes up to 1,250",
      "Ann's rent goes up to 1,250.",
      "my rent goes up to 1,250",
    ],
    ["Ann: we could go Sunday but I work Saturdays", "Ann works Saturdays.", "I work Saturdays"],
    [
      "Timo: wir könnten am Sonntag fahren, aber ich arbeite samstags",
      "Timo arbeitet samstags.",
      "ich arbeite samstags",
    ],
  ]);
  refused("no_fact", [
    ["Ann: I was born on the moon. just kidding", "Ann was born on the moon.", "I was born on the moon"],
    ["Ann: I was born on the moon, as if", "Ann was born on the moon."],
    ["Ann: I was born on the moon. It's a joke!", "Ann was born on the moon.", "I was born on the moon"],
    ["Ann: I was born on the moon (joke)", "Ann was born on the moon."],
    ["Ann: we could go to Oslo but I work Saturdays", "The group goes to Oslo.", "we could go to Oslo"],
    ["Ann: let's rent a van but cheaply", "The group rents a van.", "let's rent a van"],
  ]);
});
