import t from 'tap'
import { testPromises } from './short.ts'

testPromises(t, ['R18', 'R19'])
