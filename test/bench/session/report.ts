/** Prints both runs side by side, and whether the goals are reached. */
import { SOURCES, spreadOf } from '../clients/taken.ts'
import { collectionOf } from './oracle.ts'
import type { SessionRun } from './run.ts'

type Say = (text: string) => void

/** Times fewer calls with snapshots than without. */
const GOAL = 5

export function printRun(run: SessionRun, say: Say): void {
  const { times, seconds, sources, repeated, errors, compared, differing } = run
  const [median, , p99] = spreadOf(times)
  const all = Object.values(sources).reduce((sum, one) => sum + one, 0)
  const shares = SOURCES.map((source) => `${source} ${((100 * sources[source]) / all).toFixed(1)} %`)
  say(`\nsnapshots ${run.snapshots ? 'on' : 'off'}: ${times.length} requests in ${seconds.toFixed(0)} s`)
  say(`  calls to the nodes: ${callsOf(run)}, median ${median.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`)
  say(`  answers by Cache-Status: ${shares.join(', ')}`)
  say(`  rejected because the nodes were overloaded, and sent again: ${repeated}`)
  say(`  errors: ${[...errors].map(([name, number]) => `${number} × ${name}`).join(', ') || '0'}`)
  say(`  computed responses compared with the node: ${compared}, different: ${differing.length}`)
  for (const target of differing.slice(0, 10)) say(`    ${target}`)
}

/** Calls by path, those with most calls without snapshots first. */
export function printCalls(off: SessionRun, on: SessionRun, say: Say): void {
  const paths = [...new Set([...off.calls.keys(), ...on.calls.keys()])]
  const of = (run: SessionRun, path: string) => run.calls.get(path) ?? 0
  say('\n| calls to | snapshots off | snapshots on |')
  say('|---|---|---|')
  for (const path of paths.sort((a, b) => of(off, b) - of(off, a)))
    say(`| ${path} | ${of(off, path)} | ${of(on, path)} |`)
  say(`| all | ${callsOf(off)} | ${callsOf(on)} |`)
  // No snapshot answers the rest of the dashboard, such as the status of the daemons.
  const tables = paths.filter((path) => collectionOf(path) !== undefined)
  const sum = (run: SessionRun) => tables.reduce((calls, path) => calls + of(run, path), 0)
  say(`| agents, packages and rules | ${sum(off)} | ${sum(on)} |`)
}

/** Returns whether all goals are reached by all pairs of runs. */
export function printGoals(pairs: readonly (readonly [off: SessionRun, on: SessionRun])[], say: Say): boolean {
  say('\ngoals')
  const reached = pairs.flatMap(([off, on]) => {
    const ratio = callsOf(off) / callsOf(on)
    const wrong = [off, on].flatMap(({ errors }) => [...errors.values()]).reduce((sum, one) => sum + one, 0)
    return [
      { name: `at least ${GOAL} times fewer calls with snapshots`, figure: ratio.toFixed(1), reached: ratio >= GOAL },
      { name: 'no errors', figure: String(wrong), reached: wrong === 0 && on.times.length === off.times.length },
      { name: 'no request rejected with snapshots', figure: String(on.repeated), reached: on.repeated === 0 },
      {
        name: 'computed responses are those of the node',
        figure: `${on.compared - on.differing.length} of ${on.compared}`,
        reached: on.compared > 0 && on.differing.length === 0,
      },
    ]
  })
  for (const { name, figure, reached: is } of reached) say(`  ${is ? 'reached' : 'missed '}  ${name}: ${figure}`)
  return reached.every(({ reached: is }) => is)
}

function callsOf({ calls }: SessionRun): number {
  return [...calls.values()].reduce((sum, one) => sum + one, 0)
}
