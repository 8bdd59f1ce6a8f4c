import t from 'tap'
import { testPlanted } from './short.ts'

testPlanted(t, ['R7'])
