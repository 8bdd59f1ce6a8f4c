import t from 'tap'
import { testPromises } from './short.ts'

testPromises(t, ['R14', 'R15', 'R17'])
