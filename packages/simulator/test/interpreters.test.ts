import t from 'tap'
import { createCapacityModels, type NodeCapacity } from '../src/capacity.ts'
import type { Time } from '../src/interpreters.ts'

interface VirtualTime extends Time {
  /** Runs everything that was put off, in order. Returns when the last of it ran. */
  readonly pass: () => Promise<number>
}

function virtualTime(): VirtualTime {
  let now = 0
  const agenda = new Map<() => void, number>()
  return {
    now: () => now,
    runAfter: (run, milliseconds) => {
      const once = () => run()
      agenda.set(once, now + Math.max(0, milliseconds))
      return () => agenda.delete(once)
    },
    pass: async () => {
      for (;;) {
        // Jobs that were waited for start their successors before time goes on.
        await new Promise((resolve) => setImmediate(resolve))
        const [next] = [...agenda].sort(([, a], [, b]) => a - b)
        if (next === undefined) return now
        const [run, at] = next
        agenda.delete(run)
        now = at
        run()
      }
    },
  }
}

/** Returns the virtual milliseconds in which `clients` receive `answers` responses together, from the nodes in turn. */
async function takes(clients: number, answers: number, capacity: NodeCapacity = {}, nodes = 1): Promise<number> {
  const time = virtualTime()
  const createModel = createCapacityModels(capacity, time)
  const models = Array.from({ length: nodes }, createModel)
  const response = { status: 200, headers: {}, body: Buffer.alloc(0) }
  let left = answers
  const client = async () => {
    while (left-- > 0) {
      const asked = { method: 'GET', url: '/rules', path: '/rules', bypass: true }
      await models[left % nodes]?.respond(asked, async () => response)
    }
  }
  const all = Promise.all(Array.from({ length: clients }, client))
  const passed = await time.pass()
  await all
  return passed
}

t.test('four concurrent requests complete four in a second, one at a time 2.5', async (t) => {
  const [one, four] = [await takes(1, 400), await takes(4, 400)]
  t.ok(Math.abs(400 / (one / 1000) - 2.5) < 0.1, `${one} ms by one`)
  t.ok(Math.abs(400 / (four / 1000) - 4) < 0.1, `${four} ms by four`)
})

t.test('more than four concurrent requests complete half as many as four', async (t) => {
  const [four, twelve] = [await takes(4, 400), await takes(12, 400)]
  t.ok(Math.abs(twelve / four - 2) < 0.1, `${four} ms by four, ${twelve} ms by twelve`)
})

t.test('nodes on one machine slow each other down, nodes on their own machines do not', async (t) => {
  const own = await takes(6, 6, { atOnce: 3, machines: 'own' }, 2)
  const shared = await takes(6, 6, { atOnce: 3, machines: 'shared' }, 2)
  t.ok(shared > 2 * own, `${own} ms on two machines, ${shared} ms on one`)
})

t.test('a scale multiplies the speed', async (t) => {
  const [plain, scaled] = [await takes(3, 40), await takes(3, 40, { scale: 8 })]
  t.ok(Math.abs(plain / scaled - 8) < 0.001, `${plain} ms, ${scaled} ms`)
})
