/** What a file format of an import may name. */
import { Deduction } from '../contract/deduction.ts';
import { columnsOf } from '../formats/csv.ts';
import type { FileKind } from '../formats/file-format.ts';
import { IMPORT_COLUMNS } from './import.ts';

const columns = columnsOf({
  schema: Deduction,
  more: ['created_at', 'payroll_code'],
  what: 'an import of deductions',
});

export const DEDUCTIONS_FILE: FileKind = {
  ...columns,
  required: IMPORT_COLUMNS.required,
  isName: (name) => columns.names.includes(name),
  constants: ['line_of_coverage', 'taxability', 'period', 'employer_contribution'],
  words: {
    id: ['deductionid', 'dedid', 'deductionnumber'],
    payroll_code: [
      ...['deductioncode', 'dedcode', 'ded', 'deduction', 'deductiontype', 'benefitcode', 'plancode'],
    ],
    line_of_coverage: ['coverage', 'benefit', 'benefittype', 'plantype', 'lineofbusiness'],
    member_contribution: [
      ...['employeecost', 'eecost', 'eeamt', 'employeeamt', 'employeeamount', 'amount'],
      ...['memberamount', 'employeededuction', 'eededuction', 'employeepremium', 'eepremium'],
      ...['employeedeductionamount', 'employeecontributionamount', 'eecontributionamount', 'ee'],
    ],
    employer_contribution: [
      ...['employercost', 'ercost', 'eramt', 'employeramt', 'companycontribution', 'companycost'],
      ...['employerdeduction', 'erdeduction', 'employerpremium', 'erpremium'],
      ...['employercontributionamount', 'companycontributionamount', 'ercontributionamount', 'er'],
    ],
    period: ['frequency', 'deductionfrequency', 'freq'],
    taxability: [
      ...['taxstatus', 'taxtreatment', 'pretax', 'pretaxposttax', 'preposttax', 'prepost', 'taxtype'],
      'tax',
    ],
    coverage_type: ['coveragelevel', 'tier', 'coveragetier'],
    effective_start: [
      ...['start', 'startdate', 'startson', 'begindate'],
      ...['deductionstart', 'deductionstartdate', 'coveragestart', 'coveragestartdate'],
      'coverageeffectivedate',
    ],
    effective_end: [
      ...['end', 'enddate', 'endson', 'deductionend', 'deductionenddate', 'coverageend', 'coverageenddate'],
      ...['termdate', 'terminationdate', 'coveragetermdate'],
    ],
  },
  follows: { payroll_code: ['line_of_coverage', 'taxability'] },
};
