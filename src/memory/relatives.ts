import { clausesOf, closestClauses, inSmallLetters, sentencesAround } from "./told-as.ts";

/** Whether a quote tells of a person by their relation to its speaker: "my brother". Pure. */

/** Compounds have the relation at their end: "grandmother", "Schwiegermutter". */
const RELATION = [
  "\\p{L}*(?:mother|father|brother|sister|daughter|child|children|parents?)s?|sons?|grandsons?|stepsons?|mums?|moms?|mommy|dads?|daddy|grandmas?|grandpas?|granny|grandad|siblings?|twins?|kids?|bab(?:y|ies)|wi(?:fe|ves)|husbands?|hubby|spouse|partners?|fianc[eé]e?s?|(?:boy|girl)?friends?|uncles?|aunts?|auntie|cousins?|nephews?|nieces?|famil(?:y|ies)|boss|manager|co-?workers?|colleagues?|(?:room|flat|house|team|class)mates?|neighbou?rs?|ex",
  "\\p{L}*(?:mutter|vater|bruder|schwester|tochter|sohn|eltern|kind|kinder|töchter|söhne|brüder|schwestern)s?|mama|papa|oma|opa|frau|mann|ehefrau|ehemann|partnerin|freund(?:in|e|innen)?|verlobte[rn]?|onkel|tante|cousine?|neffe|nichte|chef(?:in)?|kolleg(?:e|in|en|innen)|nachbar(?:in|n)?|mitbewohner(?:in)?|familie",
  "herman[oa]s?|madre|padres?|mamá|papá|hij[oa]s?|abuel[oa]s?|ti[oa]s?|tíos?|tías?|prim[oa]s?|sobrin[oa]s?|suegr[oa]s?|cuñad[oa]s?|espos[oa]s?|marido|mujer|novi[oa]|pareja|jef[ea]|amig[oa]s?|vecin[oa]s?|compañer[oa]s?|familia",
  "mère|père|parents|maman|frères?|sœurs?|soeurs?|fils|filles?|enfants?|grand-mère|grand-père|oncle|tante|cousine?s?|neveux?|nièces?|femme|mari|conjointe?|copine?|copain|ami[es]*|patronne?|voisine?s?|collègues?|famille",
  "fratell[oi]|sorell[ae]|figli[oae]?|nonn[oaie]|zi[oaei]|cugin[oaei]|nipot[ei]|moglie|marito|fidanzat[oa]|capo|amic[oai]|irmã[os]*|irmãos|filh[oa]s?|mãe|pai|avó|avô|marido|esposa|namorad[oa]|chefe|amig[oa]s?",
  "мама|мать|папа|отец|брат|сестра|сын|дочь|муж|жена|бабушка|дедушка|друг|подруга|начальник|родители|дети",
].join("|");
const UNSPACED_RELATION =
  "お?(?:母|父|祖母|祖父|兄|姉|弟|妹|妻|夫|嫁|旦那|主人|息子|娘|子供|子ども|両親|友達|友人|上司|同僚|彼女|彼氏|家内|家族|従兄弟|いとこ|叔父|叔母|甥|姪)(?:さん|ちゃん)?|(?:妈妈|爸爸|哥哥|姐姐|弟弟|妹妹|儿子|女儿|老婆|老公|妻子|丈夫|奶奶|爷爷|朋友|老板|同事|父母|孩子)";
const ANY_RELATION = new RegExp(
  `(?<![\\p{L}\\p{M}])(?:${RELATION})(?![\\p{L}\\p{M}])|${UNSPACED_RELATION}`,
  "u",
);
const MY = "my|mein|meine|mi|mis|mon|ma|mes|mio|mia|il mio|la mia|meu|minha|o meu|a minha|мой|моя|мои";
const CONNECTIVES =
  "and|so|but|also|well|yeah|yes|oh|because|since|that|now|today|und|aber|auch|ja|weil|dass|y|pero|et|mais|e|ma|и|а|но";
/** The clause's subject, alone: not "my brother's wedding", "my brother and I". */
const SUBJECT = new RegExp(
  `^(?:(?:${CONNECTIVES}) ){0,3}(?:${MY}) (?:\\p{L}+ ){0,2}(?:${RELATION})(?:-in-law)?(?![\\p{L}\\p{M}'])(?!,? (?:and|und|y|et|e|и) )`,
  "u",
);
const UNSPACED_SUBJECT = new RegExp(
  `^(?:(?:私|僕|俺|うち|わたし|ぼく)の|我的?)?(?:${UNSPACED_RELATION})(?:は|が|も|(?<=[\u4e00-\u9fff]{2})(?=[是在有住会]))`,
  "u",
);
/** The speaker has a part in it: "my brother gave me a dog". */
const SPEAKER =
  /(?<![\p{L}'])(?:i|i'\p{L}+|me|us|we|ich|mir|mich|uns|wir|je|j'\p{L}+|me|nous|yo|nos|io|mi|ci|eu|я|мне|меня|нам|нас)(?![\p{L}])|私(?!の)|僕(?!の)|俺(?!の)|くれ|もらっ/u;

/** Whether the clauses closest to a statement have a relative or friend of the speaker as their subject, and the statement names none. */
export function isOfRelative(statement: string, quote: string, line: string): boolean {
  const told = inSmallLetters(statement);
  if (ANY_RELATION.test(told)) return false;
  const quoted = sentencesAround(quote, line).flatMap((sentence) => clausesOf(inSmallLetters(sentence)));
  const { clauses } = closestClauses(told, quoted);
  return (
    clauses.length > 0 &&
    clauses.every(
      (clause) =>
        (SUBJECT.test(clause) && !SPEAKER.test(withoutOwner(clause))) || UNSPACED_SUBJECT.test(clause),
    )
  );
}

/** "Mi hermana": the first word of the subject is the speaker's, and no object. */
function withoutOwner(clause: string): string {
  return clause.replace(SUBJECT, " ");
}
