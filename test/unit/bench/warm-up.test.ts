import t from 'tap'
import { warmUpInTurns } from '../../bench/warm-up.ts'

/** Runs cases whose slices have these figures, the last of which repeats; a text is an error. Each slice takes a second. */
async function warmUp(figures: Readonly<Record<string, readonly (number | string)[]>>, maxMs: number) {
  const order: string[] = []
  const rounds: Record<string, number | undefined>[] = []
  const result = await warmUpInTurns(Object.keys(figures), {
    run: async (name) => {
      const turn = order.filter((each) => each === name).length
      order.push(name)
      const figure = figures[name]?.[turn] ?? figures[name]?.at(-1) ?? 0
      if (typeof figure === 'string') throw new Error(figure)
      return { rate: 1, cpu: figure }
    },
    onFailure: (name, fault) => order.push(`${name}: ${(fault as Error).message}`),
    onRound: (taken) => rounds.push(Object.fromEntries([...taken].map(([name, all]) => [name, all.at(-1)]))),
    maxMs,
    clock: () => order.length * 1000,
  })
  return { ...result, order, rounds }
}

t.test('cases are warmed up in turns until the figure of each has settled', async (t) => {
  const { cases, isSettled, order, rounds } = await warmUp({ first: [300, 200, 190], second: [100, 99] }, 60_000)
  t.strictSame(cases, ['first', 'second'])
  t.equal(isSettled, true)
  t.strictSame(order, ['first', 'second', 'first', 'second', 'first', 'second'], 'all get the same number of slices')
  t.strictSame(rounds, [
    { first: 300, second: 100 },
    { first: 200, second: 99 },
    { first: 190, second: 99 },
  ])
})

t.test('figures that do not settle end with the time', async (t) => {
  const { cases, isSettled, order } = await warmUp({ only: [100, 200, 100, 200, 100, 200] }, 4000)
  t.strictSame(cases, ['only'])
  t.equal(isSettled, false)
  t.equal(order.length, 4)
})

t.test('a case that fails is left out, and the others go on', async (t) => {
  const { cases, isSettled, order } = await warmUp({ broken: ['no wrk'], whole: [100, 100] }, 60_000)
  t.strictSame(cases, ['whole'])
  t.equal(isSettled, true)
  t.strictSame(order, ['broken', 'broken: no wrk', 'whole', 'whole'])
})

t.test('without a case that works, nothing is measured', async (t) => {
  const { cases } = await warmUp({ broken: ['no wrk'] }, 60_000)
  t.strictSame(cases, [])
})
