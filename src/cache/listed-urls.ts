/** The response of `GET /cache`: the URLs of all stored responses, also by group. There may be a hundred thousand. */
import { compareTexts, inTurns, selectFirst } from '../core/in-turns.ts'
import { type EdgeOrigin, type EnvelopeResponse, type IndexEntry, OF_EDGE } from '../core/response.ts'

/** Each URL is listed once, though it may be stored for several scopes. Serves other events of the loop meanwhile. */
export async function urlsOf(entries: readonly IndexEntry[]): Promise<EnvelopeResponse<EdgeOrigin>> {
  const all = new Set<string>()
  const groups = new Map<string, Set<string>>()
  for await (const part of inTurns(entries)) {
    for (const { group, url } of part) {
      all.add(url)
      const urls = groups.get(group)
      if (urls === undefined) groups.set(group, new Set([url]))
      else urls.add(url)
    }
  }
  const parts = [Buffer.from('{"error":0,"data":{"all":'), ...(await listOf(all)), Buffer.from(',"groups":{')]
  for (const [at, group] of [...groups.keys()].sort().entries()) {
    parts.push(
      Buffer.from(`${at === 0 ? '' : ','}${JSON.stringify(group)}:`),
      ...(await listOf(groups.get(group) ?? [])),
    )
  }
  parts.push(Buffer.from('}}}'))
  return { kind: 'envelope', status: 200, body: Buffer.concat(parts), errorNumber: 0, origin: OF_EDGE }
}

/** Returns a JSON list of the sorted texts, in parts. */
async function listOf(texts: Iterable<string>): Promise<readonly Buffer[]> {
  const { first: sorted } = await selectFirst([...texts], (text) => text, compareTexts, Number.POSITIVE_INFINITY)
  const parts: Buffer[] = []
  for await (const part of inTurns(sorted)) {
    parts.push(Buffer.from(parts.length === 0 ? '[' : ','), Buffer.from(JSON.stringify(part).slice(1, -1)))
  }
  return parts.length === 0 ? [Buffer.from('[]')] : [...parts, Buffer.from(']')]
}
