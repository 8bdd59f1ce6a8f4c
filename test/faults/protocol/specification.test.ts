/** The protocol, as its specification states it, never returns an old value. Longer: `npm run check:protocol`. */
import t from 'tap'
import { explore } from './explore.ts'
import { type Setting, weakenings, weakest } from './settings.ts'

const settings: readonly Setting[] = [
  { replicas: 2, writers: 1 },
  { replicas: 2, writers: 1, local: false, links: true },
  { replicas: 2, writers: 1, local: false, loss: true },
  { replicas: 3, writers: 1, reads: 1, links: true },
  { replicas: 2, writers: 1, reads: 1, links: true, loss: true },
  { replicas: 2, writers: 1, reads: 1, links: true, loss: true, slowReplies: true },
]

t.test('no execution breaks the invariant', async (t) => {
  for (const setting of settings) {
    const { states, violation, actions } = explore(setting)
    t.equal(violation, undefined, `${JSON.stringify(setting)}: ${states} states`)
    t.ok(states > 1000 && actions.size > 10, 'the setting is not empty')
  }
})

t.test('each part of the protocol that is left out breaks it', async (t) => {
  for (const weakening of weakenings) {
    const { violation = [] } = explore(weakest(weakening))
    t.match(violation.at(-1), /returns 0/, `${weakening}: ${violation.length} actions`)
    t.comment(`${weakening}\n${violation.join('\n')}`)
  }
})
