import t from 'tap'
import { testPromises } from './short.ts'

testPromises(t, ['R5'])
