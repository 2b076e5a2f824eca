/** Words for messages: the nearest known word, lists of alternatives, and articles. */

/** More candidates take long and help little. */
const MAX_KNOWN = 1_000

/** Returns `. Did you mean "shell"?` for the end of a message, or nothing. */
export const didYouMean = (word: string, known: ReadonlyArray<string>): string => {
  const meant = closest(word, known)
  return meant === undefined ? '' : `. Did you mean "${meant}"?`
}

/** Returns the closest candidate, or else one with the same beginning (`retries`: `retry`, `timeout`: `timeoutMillis`). */
export const likeliest = (word: string, known: ReadonlyArray<string>): string | undefined => {
  const beginning = word.slice(0, Math.max(MIN_BEGINNING, Math.ceil(word.length / 2)))
  return (
    closest(word, known) ??
    (beginning.length < MIN_BEGINNING ? undefined : known.find((one) => one.startsWith(beginning)))
  )
}

const MIN_BEGINNING = 4

/** Returns the candidate that differs least, if only a little. */
export const closest = (word: string, known: ReadonlyArray<string>): string | undefined => {
  const limit = word.length < 2 ? 0 : Math.max(1, Math.floor(word.length / 3))
  const [first] = known
    .slice(0, MAX_KNOWN)
    .map((candidate) => ({ candidate, distance: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter((one) => one.distance <= limit)
    .sort((a, b) => a.distance - b.distance)
  return first?.candidate
}

/** The edit distance. A plural counts as its singular, too. */
const distance = (word: string, candidate: string): number =>
  Math.min(editDistance(word, candidate), editDistance(word.replace(/ies$/, 'y').replace(/s$/, ''), candidate))

/** The Damerau-Levenshtein distance. */
const editDistance = (a: string, b: string): number => {
  if (Math.abs(a.length - b.length) > 5 || a.length > 64) return Infinity
  let before: ReadonlyArray<number> = []
  let row: ReadonlyArray<number> = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const edited = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1))
      next.push(swapped ? Math.min(edited, (before[j - 2] ?? 0) + 1) : edited)
    }
    before = row
    row = next
  }
  return row[b.length] ?? Infinity
}

export const orList = (words: ReadonlyArray<string>): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`

/** A noun with its article: `an Error`, `a Map`. */
export const withArticle = (noun: string): string => `${/^[AEIO]/i.test(noun) ? 'an' : 'a'} ${noun}`
