/** Every recorded response has the form that the OpenAPI document describes. */
import t, { type Test } from 'tap'
import { translatedAnswers, v3Answers } from './recorded.ts'
import { type Answer, faultsOf } from './validator.ts'

/** Reports each fault of an operation once, with the number of responses that have it. */
function reportFaults(t: Test, answers: readonly Answer[]): void {
  const times = new Map<string, number>()
  for (const answer of answers) {
    const { endpoint, status, text } = answer
    // Described in words: as a content, it would make each error of a typed client a text or an object.
    if (status === 401 && text === '401 Unauthorized') continue
    for (const fault of faultsOf(answer)) {
      const line = `${endpoint.method} ${endpoint.path} ${status}: ${fault.replace(/\/\d+/g, '/n')}`
      times.set(line, (times.get(line) ?? 0) + 1)
    }
  }
  t.same(
    [...times].map(([line, count]) => `${count} times ${line}`),
    [],
  )
}

const v3 = v3Answers()

t.test('recorded responses of v3 nodes have their schema', async (t) => {
  t.ok(v3.length > 1100, `${v3.length} responses`)
  reportFaults(t, v3)
})

t.test('recorded responses of v4 nodes, translated, have their schema', async (t) => {
  const translated = await translatedAnswers(t)
  t.ok(translated.length > 900, `${translated.length} responses`)
  reportFaults(t, translated)
})

t.test('a response with a planted fault does not have its schema', async (t) => {
  const sample = (url: string) => {
    const found = v3.find((answer) => answer.url === url && answer.status === 200)
    if (found === undefined) throw new Error(`${url} is not recorded`)
    t.same(faultsOf(found), [], `${url} as it was recorded`)
    return found
  }
  const agent = sample('/agents?limit=2')
  const changed = (answer: Answer, from: string | RegExp, to: string): Answer => {
    const text = answer.text.replace(from, to)
    t.not(text, answer.text, `${to} is planted`)
    return { ...answer, text }
  }
  const { text } = agent
  t.ok(text.startsWith('{"error":0,"data":{'))
  const planted: Readonly<Record<string, Answer>> = {
    'unknown field of an item': changed(agent, '"items":[{', '"items":[{"colour":"red",'),
    'unknown field of an inner object': changed(agent, '"os":{', '"os":{"colour":"red",'),
    'unknown field of a collection': changed(agent, '"data":{', '"data":{"colour":"red",'),
    'unknown field of the envelope': changed(agent, '{"error":0', '{"colour":"red","error":0'),
    'number instead of a text': changed(agent, /"id":"(\d\d\d)"/, '"id":1'),
    'text instead of a list': changed(agent, /"group":\[[^\]]*\]/, '"group":"default"'),
    'text instead of a number': changed(agent, /"totalItems":\d+/, '"totalItems":"17"'),
    'missing field': changed(agent, /"id":"\d\d\d",?/, ''),
    'missing total': changed(agent, /"totalItems":\d+,?/, '').text.endsWith(',}}')
      ? { ...agent, text: '{"error":0,"data":{"items":[]}}' }
      : changed(agent, /,?"totalItems":\d+/, ''),
    'failure with data': { ...agent, text: '{"error":1701,"data":{"items":[],"totalItems":0}}' },
    'success with a message': { ...agent, text: '{"error":0,"message":"Agent does not exist"}' },
    'failure without a message': { ...agent, text: '{"error":1701}' },
    'unknown code': { ...agent, text: '{"error":123456,"message":"x"}' },
    'code as a text': { ...agent, text: '{"error":"1701","message":"x"}' },
    'code of another status': { ...agent, status: 400, text: '{"error":1701,"message":"x"}' },
    'unknown status': { ...agent, status: 302 },
    'unknown media type': { ...agent, type: 'text/html' },
  }
  for (const [name, answer] of Object.entries(planted)) t.not(faultsOf(answer).length, 0, name)
})
