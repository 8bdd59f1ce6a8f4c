/** The smallest form: two states. `every-redis-state.test.ts` has all. */
import t from 'tap'
import { checkStates, states } from './redis-states.ts'

const SHORT = /too few replicas|out of memory/

t.test('in states in which Redis does not work', (t) =>
  checkStates(
    t,
    states.filter(({ name }) => SHORT.test(name)),
  ),
)
