/**
 * Checks the specification of the coherence protocol (`npm run check:protocol`): no execution breaks the invariant, with
 * two and with three replicas, and each part of the protocol that is left out breaks it.
 */
import { readOptions } from '../../support/script-options.ts'
import { explore } from './explore.ts'
import { type Setting, weakenings, weakest } from './settings.ts'

const { values } = readOptions({
  name: 'check:protocol',
  purpose: 'Explores every execution of the specification of the coherence protocol.',
  options: { replicas: { kind: 'number', meaning: 'check with this number of replicas only (default: 2 and 3)' } },
})

/** Each of them is small enough for a minute or two. */
const settings: readonly Setting[] = [
  { replicas: 2, writers: 1, links: true },
  { replicas: 2, writers: 1, loss: true },
  { replicas: 2, writers: 2, local: false, loss: true },
  { replicas: 2, writers: 2, reads: 1, links: true },
  { replicas: 3, writers: 1 },
  { replicas: 3, writers: 1, reads: 1, links: true, loss: true },
  { replicas: 3, writers: 1, reads: 1, links: true, loss: true, slowReplies: true },
  { replicas: 3, writers: 2, reads: 1 },
]
let failures = 0

function report(text: string, passed: boolean, lines: readonly string[] = []): void {
  if (!passed) failures += 1
  for (const line of lines) console.log(`  ${line}`)
  console.log(`${passed ? 'ok' : 'NOT OK'} – ${text}`)
}

for (const setting of settings) {
  if (values.replicas !== undefined && values.replicas !== setting.replicas) continue
  const { states, violation, actions } = explore(setting)
  report(`${JSON.stringify(setting)}: ${states} states, ${actions.size} actions`, violation === undefined, violation)
}
for (const weakening of weakenings) {
  const { states, violation } = explore(weakest(weakening))
  const text = violation === undefined ? 'not found' : `found after ${violation.length} actions`
  report(`left out: ${weakening}: ${text}, ${states} states`, violation !== undefined)
}
process.exit(failures === 0 ? 0 : 1)
