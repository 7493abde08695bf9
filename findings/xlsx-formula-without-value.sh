#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A formula that exceljs writes without a result is not in the sheet that SheetJS reads:
# the cell has neither the formula nor a value, and the CSV has an empty line.
#
# Guess:  SheetJS keeps the cell, with its formula and no value, as exceljs itself does
#         when it reads the same file.
# Seen:   exceljs 4.4.0 writes <c r="A2"><f>A1*3</f></c>, which is valid (ECMA-376 part 1,
#         18.3.1.4: v is optional). xlsx 0.18.5 has no A2 at all by default; only with
#         {sheetStubs: true} the cell is there, with the formula, and with a value of 0
#         that the file does not have.
# Why it matters: a sheet made by a program usually has formulas without results, since
#         only a spreadsheet program calculates them. A reader that prints values shows
#         the columns of sums as empty.
# Needs:  node, npm. Fails if the behaviour changes.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --loglevel=error exceljs@4.4.0 xlsx@0.18.5 >/dev/null 2>&1

cat >run.cjs <<'END'
const ExcelJS = require('exceljs'), XLSX = require('xlsx');
(async () => {
    const made = new ExcelJS.Workbook(), sheet = made.addWorksheet('Sums');
    sheet.getCell('A1').value = 2;
    sheet.getCell('A2').value = {formula: 'A1*3'};
    sheet.getCell('A3').value = 5;
    await made.xlsx.writeFile('sums.xlsx');
    const again = new ExcelJS.Workbook();
    await again.xlsx.readFile('sums.xlsx');
    console.log('exceljs A2:', JSON.stringify(again.getWorksheet('Sums').getCell('A2').value));
    const plain = XLSX.readFile('sums.xlsx').Sheets.Sums;
    console.log('xlsx A2:', JSON.stringify(plain.A2));
    console.log('xlsx CSV:', JSON.stringify(XLSX.utils.sheet_to_csv(plain)));
    const stubs = XLSX.readFile('sums.xlsx', {sheetStubs: true}).Sheets.Sums;
    console.log('xlsx A2 with sheetStubs:', JSON.stringify(stubs.A2));
})();
END
node run.cjs | tee seen
cat >want <<'END'
exceljs A2: {"formula":"A1*3"}
xlsx A2: undefined
xlsx CSV: "2\n\n5"
xlsx A2 with sheetStubs: {"t":"z","f":"A1*3","v":0}
END
cmp -s seen want || { echo "changed; was:"; cat want; exit 1; }
