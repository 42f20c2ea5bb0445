/* SPDX-License-Identifier: Apache-2.0 */
/* See presets.h. */
#include "cli/import/presets.h"

/* ---- online-retail: the UCI Online Retail data set, the invoices of one shop ---- */

/* Customer numbers were a column of floating point once: 17850.0 */
static void correct_online_retail(struct csv_order_row *row)
{
    struct text *customer = &row->texts[CSV_CUSTOMER];
    if (customer->size > 2 && memcmp(customer->data + customer->size - 2, ".0", 2) == 0)
        customer->size -= 2;
}

/* The first letter of an invoice number is its kind; orders have none. */
static const char *refuse_online_retail(const struct csv_order_row *row)
{
    struct text invoice = row->texts[CSV_ORDER_ID];
    if (invoice.size > 0 && invoice.data[0] == 'C')
        return "a cancellation names no earlier order";
    if (invoice.size > 0 && invoice.data[0] == 'A')
        return "an adjustment of bad debt is not an order";
    return NULL;
}

static const struct csv_preset presets[] = {
    {
        .name = "online-retail",
        .columns = "order_id=InvoiceNo,customer=CustomerID,sku=StockCode,description=Description,"
                   "quantity=Quantity,unit_price=UnitPrice,attributes.country=Country,"
                   "attributes.invoice_date=InvoiceDate",
        .correct = correct_online_retail,
        .refuse = refuse_online_retail,
    },
};

const struct csv_preset *csv_preset_find(const char *name)
{
    for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    }
    return NULL;
}
