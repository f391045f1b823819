/// In the order of the table.
let allRows: [Row] = limitRows + CenterRows.all + SwiftRows.all + SleeperRows.all
