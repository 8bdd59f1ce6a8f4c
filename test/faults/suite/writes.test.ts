import t from 'tap'
import { testPlanted, testPromises } from './short.ts'

testPromises(t, ['R14', 'R15', 'R17'])
testPlanted(t, ['R14'])
