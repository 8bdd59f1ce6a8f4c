/** Replays the rows of all sheets through running edges; README.md describes the rows. */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { parse } from 'yaml'
import { type Stage, startRig } from './rigs.ts'
import { replay } from './steps.ts'
import { ASSERTING, checkSheet, type Rig, type Row, type Run } from './vocabulary.ts'

const MAX_RIGS = 4
const RUN_PATIENCE_MS = 120_000
const folder = new URL('rows/', import.meta.url)
const sheets = readdirSync(folder).map((name) =>
  checkSheet(name, parse(readFileSync(new URL(name, folder), 'utf8'), { merge: true })),
)
const rigs = new Map<string, Rig>()
for (const sheet of sheets) {
  for (const [name, rig] of Object.entries(sheet.rigs ?? {})) {
    if (rigs.has(name)) throw new Error(`two rigs ${name}`)
    rigs.set(name, rig)
  }
}
const rows = sheets.flatMap((sheet) => sheet.rows)

/** A run of a row in its rig. */
interface Turn {
  readonly row: Row
  readonly run: Run
  readonly name: string
}

const turns = new Map<string, Turn[]>([...rigs.keys()].map((name) => [name, []]))
for (const row of rows) {
  for (const [at, run] of row.runs.entries()) {
    const queue = turns.get(run.on)
    if (queue === undefined) throw new Error(`${row.id}: no rig ${run.on}`)
    queue.push({ row, run, name: at === 0 ? row.id : `${row.id}-${at}` })
  }
}

t.test('each row has its own name and asserts something in each run', async (t) => {
  const ids = rows.map(({ id }) => id)
  t.strictSame(ids, [...new Set(ids)])
  for (const { id, runs } of rows) {
    for (const { steps } of runs) {
      const isAsserting = steps.some((step) => ASSERTING.some((name) => step[name] !== undefined))
      t.ok(isAsserting, `${id} asserts something`)
    }
  }
})

/** What the runs of each row found, by its name. */
const outcomes = new Map<string, (readonly string[] | Error)[]>(rows.map(({ id }) => [id, []]))

/** The rigs run side by side, because some rows wait; not all at once, because the edges share one event loop. */
const queues = [...turns].filter(([, queue]) => queue.length > 0)
await Promise.all(Array.from({ length: MAX_RIGS }, replayNext))

async function replayNext(): Promise<void> {
  for (let next = queues.shift(); next !== undefined; next = queues.shift()) {
    const [name, queue] = next
    await replayAll(await startRig(rigs.get(name) ?? {}).catch((fault: Error) => fault), queue)
  }
}

async function replayAll(stage: Stage | Error, queue: readonly Turn[]): Promise<void> {
  for (const { row, run, name } of queue) {
    const found =
      stage instanceof Error ? stage : await withinPatience(replay(stage, run, name)).catch((fault: Error) => fault)
    outcomes.get(row.id)?.push(found)
  }
  if (!(stage instanceof Error)) await stage.close()
}

/** A run that hangs does not keep the others from their results. */
async function withinPatience<T>(running: Promise<T>): Promise<T> {
  const late = new AbortController()
  const timeout = wait(RUN_PATIENCE_MS, undefined, { signal: late.signal }).then(() => {
    throw new Error(`the run has not ended after ${RUN_PATIENCE_MS} ms`)
  })
  try {
    return await Promise.race([running, timeout])
  } finally {
    late.abort()
  }
}

for (const { id, expected, fails, runs } of rows) {
  t.test(`${id}: ${expected}`, async (t) => {
    const found = outcomes.get(id) ?? []
    const faults = found.flatMap((each) => (each instanceof Error ? [] : each))
    t.strictSame(
      found.filter((each) => each instanceof Error),
      [],
      'each step could be carried out',
    )
    t.equal(found.length, runs.length, 'each run was replayed')
    if (fails === undefined) return void t.strictSame(faults, [])
    // The mark asserts how the row fails, so that it does not hide another fault.
    t.not(faults.length, 0, 'the row holds now: remove its mark `fails`')
    t.strictSame(
      faults.filter((fault) => !fails.some((part) => fault.includes(part))),
      [],
      'fails only as its mark states',
    )
  })
}
