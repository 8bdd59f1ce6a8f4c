import t from 'tap'
import { testPlanted, testPromises } from './short.ts'

testPromises(t, ['R7'])
testPlanted(t, ['R7'])
