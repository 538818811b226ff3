import { splitSentences } from "../../text/terms.ts";

/** A question mark of any script, before a sentence's end. */
const MARK = /[?\uff1f\u061f\u037e\u055e]/;
/** Links hold question marks that ask nothing. */
const LINKS = /(?<!\S)\S+:\/\/\S+/g;
/** Ends a question in scripts that need no mark. */
const UNMARKED_END = /(?:か|かな|吗|呢|嗎|까|나요)[。.!！]?$/;
/** Words that begin a question, or a request to tell something. */
const FIRST_WORDS = new Set(
  `who what when where why which whose whom how is are was were do does did has have can could will would should may
  tell show find search list quote give explain describe summarise summarize recall
  wer was wann wo warum wieso weshalb welche welcher welches wessen wem wen wie ist sind war waren hat haben kann kannst wird
  sag sage zeig zeige finde suche nenne erzähl erzähle
  qui que quoi quand où pourquoi quel quelle quels quelles comment combien est-ce dis montre cherche trouve
  quién quien qué cuándo cuando dónde donde cuál cual cómo cuánto dime muestra busca
  chi cosa quando dove perché quale quali come quanto dimmi mostra cerca
  quem onde porque qual quais quanto diz mostre procure
  wie wat wanneer waar waarom welk welke hoe zeg toon zoek`.split(/\s+/),
);

/** True: a sentence asks. A question mark says so, or the sentence's first word. */
export function isQuestion(text: string): boolean {
  return splitSentences(text.replaceAll(LINKS, " ")).some((sentence) => {
    const plain = sentence.trim().toLowerCase();
    const [first = ""] = plain.replace(/^[¿¡"'“‘(\s]+/u, "").split(/[\s,:]+/u);
    return MARK.test(plain) || UNMARKED_END.test(plain) || FIRST_WORDS.has(first);
  });
}
