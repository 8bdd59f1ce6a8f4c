/** Suggestions for misspelled names. */
import { distance } from 'fastest-levenshtein'

/** The header with the name that a client may have meant. Error texts are part of the contracts, so they do not contain it. */
export const SUGGESTION_HEADER = 'did-you-mean'

/** Returns the candidate that is most similar to the word, if one is similar enough to be a misspelling of it. */
export function findSimilar(word: string, candidates: readonly string[]): string | undefined {
  const maxDistance = Math.max(2, Math.floor(word.length / 3))
  const ranked = candidates
    .map((name) => ({ name, edits: distance(word.toLowerCase(), name.toLowerCase()) }))
    .filter(({ edits }) => edits <= maxDistance)
    .sort((a, b) => a.edits - b.edits)
  return ranked[0]?.name
}

/** Returns the header for a word of a client; no header if no candidate is similar. */
export function suggestionHeaders(word: string, candidates: readonly string[]): Readonly<Record<string, string>> {
  const name = findSimilar(word.slice(0, 64), candidates)
  return name === undefined ? {} : { [SUGGESTION_HEADER]: name }
}
