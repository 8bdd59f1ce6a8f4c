import t from 'tap'
import { checkStates, states } from './redis-states.ts'

t.test('in each state in which Redis does not work', (t) => checkStates(t, states))
