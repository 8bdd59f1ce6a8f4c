/** Runs promises as tests of the ordinary suite: short, and with an allowance for a machine whose cores are busy. */
import type { Test } from 'tap'
import { type FaultPromise, type Figure, NotRun, runPromise } from './promise.ts'
import { promises } from './registry.ts'

const SHORT = { scale: 0.005, rate: 40, allowance: 1500 }

export function testPromises(t: Test, ids: readonly string[]): void {
  for (const id of ids) {
    const promise = promises.find((each) => each.id === id)
    if (promise === undefined) throw new RangeError(`there is no promise ${id}`)
    t.test(`${id}: ${promise.title}`, async (t) => {
      const seed = Date.now() % 1_000_000
      for (const { name, value, limit, pass } of await checkOnce(promise, seed)) {
        t.ok(pass, `${name}: ${value} (limit ${limit}, seed ${seed})`)
      }
    })
  }
}

/** Runs the check, up to three times if this machine is too busy for it. Throws `NotRun` if it could not be run then. */
async function checkOnce(promise: FaultPromise, seed: number, tries = 3): Promise<readonly Figure[]> {
  try {
    return await runPromise(promise, { ...SHORT, seed })
  } catch (error) {
    if (!(error instanceof NotRun) || tries === 1) throw error
    return checkOnce(promise, seed, tries - 1)
  }
}

/** The same with the defect planted: at least one figure must fail. */
export function testPlanted(t: Test, ids: readonly string[]): void {
  for (const id of ids) {
    const promise = promises.find((each) => each.id === id)
    if (promise === undefined) throw new RangeError(`there is no promise ${id}`)
    t.test(`the check of ${id} fails if ${promise.planted}`, async (t) => {
      const figures = await runPromise(promise, { ...SHORT, seed: 1, planted: true })
      t.ok(figures.some(({ pass }) => !pass))
    })
  }
}
