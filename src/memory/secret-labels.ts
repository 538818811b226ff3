/** Words that name a secret beside it ("PIN", "password"), in many languages. Lists only; `secrets.ts` has the rules. */

/**
 * How the value of a secret must look.
 * - `pass`: a password, which may be an ordinary word
 * - `mixed`: letters with digits or signs, or digits
 * - `key`: long, with letters and digits
 * - `code`: digits, or letters with digits
 * - `bare`: the same, but the label alone (`code`) has other meanings
 * - `number`: at least six digits
 * - `words`: a row of words
 * - `login`: a name, and then the value
 */
export const KINDS = ["pass", "mixed", "key", "code", "bare", "number", "words", "login"] as const;
export type LabelKind = (typeof KINDS)[number];

const PLACE =
  "door|gate|access|entry|entrance|alarm|garage|lock|locker|safe|vault|keypad|building|house|gym|lift|elevator|unlock|disarm";
const USE =
  "security|verification|confirmation|authentication|authenticator|auth|one[- ]?time|login|log-?in|sign-?in|recovery|backup|back-?up|reset|sms|2fa|two[- ]factor|mfa|activation|phone|voicemail|card|atm|bank(?:ing)?|debit|credit";

/** Expressions without groups. Long ones also end a compound: `wlan-passwort`, `rootpassword`. */
const COMPOUND: Readonly<Partial<Record<LabelKind, string>>> = {
  pass: "password|passwort|passphrase|kennwort|losungswort|wachtwoord|lösenord|adgangskode|kodeord|passord|salasana|jelszó|contraseña|parol[ae]? d'ordine|пароль|пароля|סיסמה|סיסמא",
  code: "passcode|pass code|pincode|türcode|tuercode|zugangscode|zahlencode|sicherheitscode|bestätigungscode|geheimzahl|geheimnummer|digicode",
};

const WHOLE: Readonly<Record<LabelKind, string>> = {
  pass: "mot de passe|mdp|senha|palavra-passe|parola(?: d'ordine)?|şifre(?:m|si|miz)?|parolam|hasło|heslo|κωδικός πρόσβασης|كلمة السر|كلمة المرور|पासवर्ड|kata sandi|mật khẩu|пасворд",
  mixed:
    "pass|passwd|pwd|pw|psk|(?:wi-?fi|wlan|wireless|network|encryption|decryption)[ -]?(?:key|schlüssel)|clave|(?:clé|chiave) (?:du |del |della )?wi-?fi",
  key: "(?:api|access|secret|private|signing|deploy|license|licence|product|ssh|encryption|secret_access|secret access)[ _-]?key|[\\w]{0,20}_key|apikey|(?:[\\w]{0,20}[ _-])?token|(?:client|app|shared|webhook)?[ _-]?secret|api-schlüssel|clé (?:d'api|api)|clave (?:de )?api|chiave api|ключ(?: api)?",
  code: `pin(?:[ -]?(?:code|nummer|number))?|puk|otp|m?tan|cvv2?|cvc2?|(?:${PLACE}|${USE})[ -](?:pass)?codes?|(?:${USE}) pin|código pin|codice pin|code pin|einmal-?code|sms-?code|пин|пин-?код|pin-?kod|pin-?kode`,
  bare: "codes?|combos?|combination|kombination|código|codice|combinación|combinaison|combinazione|комбинаци[яю]|код|kod|kode|koodi|kód|رمز|الرمز|الرقم السري|رقم سري|קוד|κωδικός|पिन|कोड|mã",
  number:
    "ssn|social(?: security)?(?: number| no\\.?)?|sozialversicherungsnummer|steuer-?(?:id|nummer|identifikationsnummer)|tax id|passport (?:number|no\\.?)|(?:reise)?passnummer|ausweisnummer|(?:id|identity)(?: card)? number|driver'?s licen[cs]e number|account number|kontonummer|routing number|dni|nie|nif|cpf|codice fiscale|numéro de (?:sécurité sociale|sécu)|número (?:de la )?seguridad social|numéro de carte|número de (?:tarjeta|cuenta)|card number|kartennummer|снилс|инн|номер (?:карты|паспорта|счёта|счета)",
  words:
    "(?:seed|recovery|mnemonic|backup|wallet|secret)[ -](?:phrase|words)|mnemonic|seed|wiederherstellungs(?:phrase|wörter)|frase (?:semilla|de recuperación|mnemonica|di recupero)|phrase (?:de récupération|secrète|mnémonique)|сид-?фраз[аы]|シードフレーズ|リカバリーフレーズ|助记词|助記詞|복구 문구|시드 문구",
  login:
    "log-?in|credentials|creds|zugangsdaten|anmeldedaten|acceso|identifiants|credenziali|credenciais|логин|user(?:name)?|benutzer(?:name)?",
};

const compounds = Object.entries(COMPOUND).map(([kind, words]) => `(?<c_${kind}>${words})`);
const wholes = Object.entries(WHOLE).map(([kind, words]) => `(?<![\\p{L}\\p{N}_])(?<w_${kind}>${words})`);

/** Finds labels in a text in small letters; the group that matches ends with the kind. */
export const LABEL = new RegExp(`(?:${[...compounds, ...wholes].join("|")})(?![\\p{L}\\p{N}\\p{M}_])`, "gu");

const list = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/** Join a label with its value. */
export const COPULAS = list(
  `is are was were be been = := : → -> => - – — ist sind war lautet heißt heisst es son era fue est sont était è é são foi jest är είναι היא הוא
  это هو هي है adalah là este`,
);
/** Join a label with a value that shows that it is one. */
export const TOWARDS = list("to auf a à на");
/** Stand between a copula and the value. */
export const FILLERS = list(
  `now still always currently just simply again actually probably set to changed jetzt noch immer wieder le la el il lo the ahora
  siempre todavía maintenant toujours теперь сейчас 'the`,
);
/** In Polish, where "to" is "is". */
export const TO_IS = /^(?:hasło|pin|kod)$/u;
/** Before a label: the code of something that is no secret. */
export const NO_SECRET_BEFORE = list(
  `error exit status http zip post postal area country dress color colour promo promotion discount coupon voucher source byte morse
  bar qr response return product airport currency language hex building tax sort course class vat fehler rabatt gutschein quell
  python java the-source machine opcode`,
);
/** Behind it, the same. */
export const NO_SECRET_BEHIND = list(
  "postal postale postali conduct honour honor review freeze name base ошибки ошибка error d'erreur erreur errore fout limit window",
);
/** Of a language without a copula, or in whose chat it is left out. */
export const WITHOUT_COPULA =
  /^(?:пароль|пароля|пин|пин-?код|код|ключ|kode|mã|पिन|कोड|पासवर्ड|رمز|الرمز|كلمة السر|كلمة المرور|الرقم السري|קוד|סיסמה|şifre\p{L}*)$/u;
export const POSSESSIVES = list(
  "my our your his her mein meine unser dein mi mon ma meu minha мой моя мои наш mój şifrem parolam",
);
/** Between a value and the label behind it. */
export const BEHIND_VALUE = list("is as ist als es como est comme è come é это");

/** Numbers that are spelt digit by digit. */
export const DIGIT_WORDS = list(
  `zero oh one two three four five six seven eight nine null eins zwei drei vier fünf sechs sieben acht neun cero uno dos tres cuatro
  cinco seis siete ocho nueve zéro un deux trois quatre cinq sept huit neuf due quattro cinque sei sette otto nove ноль один два три
  четыре пять шесть семь восемь девять`,
);
/** What is counted, and no secret: "8 characters". */
export const UNITS = list(
  `bit bits byte bytes character characters chars digits digit lines line times years year days day months words tokens letters hours
  minutes seconds of percent zeichen stellen ziffern zeilen jahre tage mal wörter caracteres cifras dígitos líneas años chiffres lignes
  caractères символов цифр строк лет`,
);

/** Words that people say of a password. Behind "the password is" such a word is no password. */
const PREDICATES = list(
  `wrong right correct incorrect invalid valid bad good great fine ok okay weak strong long short safe unsafe secure insecure secret
  optional important unknown known new old same different public private default easy hard simple complicated terrible awful ugly
  there here gone lost empty blank null none not no yes true false mine yours ours hers his ready dead broken stupid silly funny
  elsewhere somewhere unique obvious random sensitive insensitive plain hidden up out off on in unchanged forgotten stolen written
  set reset kept too so it that this what
  falsch richtig ungültig gültig sicher unsicher schwach stark lang kurz leer neu alt gleich geheim unbekannt bekannt weg fort hier da
  dort zurück kompliziert einfach
  incorrecta incorrecto correcta correcto débil fuerte segura seguro larga corta nueva vieja vacía secreta secreto mala aquí
  faux fausse bon bonne mauvais faible fort long court nouveau vide secret ici
  sbagliata corretta debole forte lunga corta nuova vecchia vuota segreta
  errada errado certa correta fraca forte longa curta nova velha vazia aqui
  źle zły złe poprawne fout goed juist fel rätt forkert feil rigtig väärä rossz jó špatné špatně yanlış doğru zayıf salah benar sai đúng`,
);
const PREDICATE_ENDING =
  /(?:.(?:ed|ing|able|ible|less|ful)|^(?:ge|ver|be|ab|un).+(?:t|en)|.(?:ado|ada|ido|ida|ato|ata|uto|uta|é|ée)|.(?:ый|ий|ой|ая|ен|ан|ят|ет|ит|но|на|ть|ся|ыл|ал|ил|ел))$/u;

/** @param word in small letters */
export function isPredicate(word: string): boolean {
  return PREDICATES.has(word) || PREDICATE_ENDING.test(word);
}

/** No list of words has one of these. */
export const FUNCTION_WORDS = list(
  `the and for with are was were you not but has have had from this that these those they them will can could would should its our
  his her she him your all one out what when who how why where there here then than some any just like get got did does done too very
  also into over been being about after before because only even still much many more most other such each both few own same your
  der die das und ist nicht ein eine einen einem für mit auf aber auch noch schon mal wir ihr sie ich mich mir dich dir hat habe haben
  war wird werden kann dann wenn weil oder nur sehr mehr bei von zum zur dem den des aus nach über unter
  los las una uno unos que por para con pero como más muy este esta esto esos hay son fue ser está tiene mis sus del sin sobre donde
  les des une est pas pour dans avec sur qui plus mais tout fait sont ont nous vous ils elle mon mes ses leur cette comme aussi bien
  che non per con sono più della nel alla anche come questo quella gli dei lui lei
  não uma com mais como mas foi seu sua dos das pelo pela isso esse
  het een van niet maar ook naar voor met dat wat zijn`,
);

/** Nor has a row of words behind the label of one. */
export const SENTENCE_WORDS = list(
  "a an the of and to is it was for with in on at my we i der die das und ist im la el de en le les et è di il o que что и не в на",
);

/** Doors and the like, that open with digits. */
export const OPENED =
  /door|gate|entrance|keypad|lock|safe|vault|garage|alarm|tür|tor\b|eingang|schloss|tresor|puerta|portón|cerradura|caja|porte|portail|coffre|porta|cancello|cassaforte|двер|ворот|домофон|сейф|замо/u;
