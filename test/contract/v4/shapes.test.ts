/**
 * v3 responses of a v3 cluster and translated responses of a v4 one have the same keys and types, but for
 * the differences of the table.
 */
import t from 'tap'
import { recordedV4 } from './exchanges.ts'
import { furtherRepliesFrom } from './further-replies.ts'
import { openKeys, shapeDifferences } from './shape-differences.ts'
import { addShape, differencesOf, type Shape } from './shapes.ts'
import { v3Answers } from './v3-answers.ts'
import { startReplay } from './v3-master.ts'
import { isOfEndpoint, v3RequestOf } from './v3-requests.ts'

const isOpen = (path: string) => openKeys.some((pattern) => pattern.test(path))

function shapeOf(endpoint: string, answers: readonly unknown[]): Shape {
  const shape: Shape = new Map()
  for (const data of answers) addShape(shape, data, endpoint, isOpen)
  return shape
}

async function translatedAnswers(t: Parameters<typeof startReplay>[0]): Promise<Map<string, unknown[]>> {
  const replay = await startReplay(t)
  const recorded = recordedV4()
  const furtherReplies = furtherRepliesFrom(recorded)
  const answers = new Map<string, unknown[]>()
  for (const exchange of recorded.filter(isOfEndpoint)) {
    const derived = v3RequestOf(exchange)
    if (derived.kind === 'none' || !derived.request.endpoint.startsWith('GET ')) continue
    const { endpoint } = derived.request
    const { text } = await replay.send(derived.request, exchange, furtherReplies(exchange))
    const { error, data } = JSON.parse(text) as { error?: unknown; data?: unknown }
    if (error === 0) answers.set(endpoint, [...(answers.get(endpoint) ?? []), data])
  }
  return answers
}

t.test('translated responses have the keys and types of v3 ones', async (t) => {
  const v3 = v3Answers()
  const translated = await translatedAnswers(t)
  const both = [...v3.keys()].filter((endpoint) => translated.has(endpoint))
  const used = new Set<unknown>()
  for (const endpoint of both) {
    const differences = differencesOf(
      shapeOf(endpoint, v3.get(endpoint) ?? []),
      shapeOf(endpoint, translated.get(endpoint) ?? []),
    )
    const unexplained = differences.filter(({ path, what }) => {
      const rule = shapeDifferences.find((one) => one.path.test(path) && one.what.test(what))
      used.add(rule)
      return rule === undefined
    })
    const lines = unexplained.map(({ path, what }) => `${path}: ${what}`)
    t.same(lines, [], endpoint)
  }
  t.comment(`${both.length} endpoints are in both recordings`)
  t.ok(both.length >= 90, `${both.length} endpoints`)
  const unused = shapeDifferences.filter((rule) => !used.has(rule)).map(({ path }) => String(path))
  t.same(unused, [], 'each row of the table is needed')
})
