import t from 'tap'
import { testPlanted, testPromises } from './short.ts'

testPromises(t, ['R32'])
testPlanted(t, ['R32'])
