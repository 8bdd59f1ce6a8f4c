import t from 'tap'
import { explore, type Search } from './model.ts'
import { type Fault, faults } from './model-state.ts'

t.test('no execution of the protocol returns an old value', async (t) => {
  const searches: readonly Search[] = [
    { writers: 1 },
    { writers: 2, local: false },
    { writers: 1, local: false, flush: true },
    { writers: 1, local: false, links: true },
  ]
  for (const search of searches) {
    const { states, violation } = explore(search)
    t.equal(violation, undefined, `${JSON.stringify(search)}: ${states} states`)
    t.ok(states > 1000, 'the model is not empty')
  }
})

const ofFlush: readonly Fault[] = ['no distrust', 'no waiting for unregistered replicas']
const ofLinks: readonly Fault[] = ['no waiting for Redis', 'forwarded without its fence']

t.test('each part left out of the protocol causes a violation', async (t) => {
  for (const fault of faults) {
    const links = ofLinks.includes(fault)
    const { violation = [] } = explore({ writers: 1, faults: [fault], flush: ofFlush.includes(fault), links })
    t.match(violation.at(-1), /returns 0$/, `${fault}: ${violation.length} steps`)
    t.comment(`${fault}\n${violation.join('\n')}`)
  }
})
