/** The recorded responses of both layouts, as clients of the edge get them. */
import { readFileSync } from 'node:fs'
import { recordOf } from '../record-of.ts'
import { differenceOf } from '../replay/differences.ts'
import { type Exchange, recorded } from '../replay/exchanges.ts'
import { recordedV4 } from '../v4/exchanges.ts'
import { furtherRepliesFrom } from '../v4/further-replies.ts'
import { methodOf, startReplay } from '../v4/v3-master.ts'
import { isOfEndpoint, urlOf, v3RequestOf } from '../v4/v3-requests.ts'
import type { Answer } from './validator.ts'

/** Responses of v3 nodes, which the edge passes on, except for those that it answers otherwise. */
export function v3Answers(): readonly Answer[] {
  const text = readFileSync(new URL('../exchanges/three-nodes.jsonl', import.meta.url), 'utf8')
  const threeNodes = text.split('\n').filter(Boolean)
  const others = recorded().filter((exchange) => differenceOf(exchange)?.expect === undefined)
  return [...others, ...threeNodes.map((line) => JSON.parse(line) as Exchange)].flatMap(({ request, response }) => {
    const endpoint = recordOf(request)
    if (endpoint === undefined || response.body === null || response.body === '') return []
    const type = response.headers['content-type']?.replace('text/html', 'application/json') ?? ''
    const { status, body } = response
    return [{ endpoint, url: request.path, status, type, text: body.replace('"error":"607"', '"error":607') }]
  })
}

/** Responses of nodes of the v4 layout, translated by the edge. */
export async function translatedAnswers(t: Parameters<typeof startReplay>[0]): Promise<readonly Answer[]> {
  const replay = await startReplay(t)
  const exchanges = recordedV4()
  const furtherReplies = furtherRepliesFrom(exchanges)
  const answers: Answer[] = []
  for (const exchange of exchanges.filter(isOfEndpoint)) {
    const derived = v3RequestOf(exchange)
    if (derived.kind === 'none') continue
    const { status, text } = await replay.send(derived.request, exchange, furtherReplies(exchange))
    const url = urlOf(derived.request)
    const endpoint = recordOf({ method: methodOf(derived.request), path: url })
    const type = text.startsWith('{') ? 'application/json' : 'text/xml'
    if (endpoint !== undefined) answers.push({ endpoint, url, status, type, text })
  }
  return answers
}
