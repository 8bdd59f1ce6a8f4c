/** What messages of other programs can make a replica do. */
import t from 'tap'
import { createReplicaCalls, type RedisReplica } from '../../../src/redis/replica.ts'

function start() {
  let receive = (_text: string): void => undefined
  const published: string[] = []
  const replica = {
    id: 'one',
    times: { bulkTimeout: 1000 },
    commands: {
      send: async (_ms: number, run: (client: unknown) => unknown) =>
        run({ publish: (_channel: string, text: string) => published.push(text) }),
    },
    subscribe: (_channel: string, listener: typeof receive) => {
      receive = listener
    },
  } as unknown as RedisReplica
  const calls = createReplicaCalls(replica)
  return { calls, published, receive: (message: unknown) => receive(JSON.stringify(message)) }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

t.test('flood of requests: a bounded number is answered at the same time', async (t) => {
  const { calls, published, receive } = start()
  const waiting: (() => void)[] = []
  calls.answerWith(() => new Promise((resolve) => waiting.push(() => resolve({}))))
  for (let at = 0; at < 1000; at++) receive({ call: `${at}`, from: 'flood', request: {} })
  t.equal(waiting.length, 64)
  for (const end of waiting) end()
  await settled()
  t.equal(published.length, 64)
  receive({ call: 'next', from: 'two', request: {} })
  t.equal(waiting.length, 65, 'later requests are answered again')
})

t.test('messages that are no calls have no effect', async (t) => {
  const { calls, published, receive } = start()
  let asked = 0
  calls.answerWith(async () => ++asked)
  const values = [null, 5, [], { call: 5, from: 'x', request: {} }, { call: 'x', from: null, request: {} }]
  for (const value of values) receive(value)
  receive({ call: 'x', from: 'x', request: 'x'.repeat(5000) })
  receive({ call: 'unknown', from: 'x', reply: {} })
  receive({ call: 'x', from: 'x', to: 'other', request: {} })
  await settled()
  t.strictSame([asked, published], [0, []])
})
