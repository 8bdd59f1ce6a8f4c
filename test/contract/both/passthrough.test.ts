import t from 'tap'
import { runContractSuite } from './suite.ts'

t.test('every endpoint in front of both layouts, in mode passthrough', (t) => runContractSuite(t, 'passthrough'))
